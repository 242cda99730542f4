"""PreRopeCache turns old keys by the position of the newest token.

From: variants/plain.py
Fails: caches
"""


class PreRopeCache:
    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        self.length += k.shape[2]
        self.stored = append(self.stored, k, v, positions)
        keys, values, places = self.stored
        return (
            rotate(keys, positions[:, -1:].expand_as(places), self.frequencies),
            values,
            places,
            positions,
        )
