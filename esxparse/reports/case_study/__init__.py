"""The report on a study whose runs are compared as experiments: tables beside the findings (`tables`)."""
