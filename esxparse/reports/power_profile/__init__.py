"""The report on power: gathers data of meters and a capture (`gather`), and shows it (`tables`)."""
