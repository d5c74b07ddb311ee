"""The mathematics: functions of arrays, in the letters of the paper."""
