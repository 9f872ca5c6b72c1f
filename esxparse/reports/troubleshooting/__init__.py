"""The report from symptom to verdict on one capture: tables beside the findings (`tables`)."""
