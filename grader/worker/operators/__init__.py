"""torch's operators and collectives, as the submission calls them: counted or forbidden."""
