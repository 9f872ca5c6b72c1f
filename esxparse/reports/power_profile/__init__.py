"""The report on power: what it gathers from meters and a capture (`gather`), and shows of it (`tables`)."""
