"""Conditions between markers, their closure and stabilisation, and the reactions they cause."""
