"""Pure: plan + facts -> findings."""
