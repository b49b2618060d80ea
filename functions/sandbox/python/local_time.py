"""The time zone of a job: times with an offset from UTC become the times that its clocks show."""

import datetime
import zoneinfo

UTC = "UTC"
_zone = UTC


def set_time_zone(name):
    """Sets the zone of this process by its IANA name."""
    global _zone
    _zone = name


def time_zone():
    """Returns the name of the zone."""
    return _zone


def from_utc(moment):
    """Returns a time of UTC as the clocks of the zone show it; both have no `tzinfo`."""
    if _zone == UTC:
        return moment
    try:
        return moment.replace(tzinfo=datetime.timezone.utc).astimezone(zoneinfo.ZoneInfo(_zone)).replace(tzinfo=None)
    except OverflowError:
        return moment


def zone_reading():
    """Returns the reading of a column whose times were converted; see `column.Column`."""
    return "utc" if _zone == UTC else _zone
