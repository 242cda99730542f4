"""In which language a reader is spoken to: English as written, or Chinese from a catalogue.

Messages are made in English and stay English in reports, which are kept and compared. They are
translated where they are shown: by the catalogue, whose English are sentences with places for what
is told, held against what was said. So a report of last year is shown in Chinese too, no part of
the judge that makes messages knows of languages, and what no sentence fits is shown as it is.
"""
