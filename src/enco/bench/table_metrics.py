"""What the tables of a benchmark show of a record."""

from dataclasses import dataclass

__all__ = ["METRICS", "SECONDS", "Metric"]


@dataclass(frozen=True)
class Metric:
    """A number of a record.

    Attributes
    ----------
    field : str
        Of the record.
    title : str
        Heading of its table.
    family : str
        The metric whose table it stands in.
    digits : int
        After the point.
    scale : float
        From the record to the table; 100 makes percent.
    lower_is_better : bool
    remark : str
        Behind the name of a method.
    """

    field: str
    title: str
    family: str
    digits: int = 2
    scale: float = 1.0
    lower_is_better: bool = True
    remark: str = ""


def _share(field: str, title: str) -> Metric:
    return Metric(field, f"{title} (%)", field, digits=1, scale=100.0, lower_is_better=False)


SECONDS = Metric("seconds", "Seconds", "seconds", digits=1)

METRICS = {
    metric.field: metric
    for metric in (
        Metric("shd", "SHD", "shd"),
        Metric("shd_raw", "SHD", "shd", remark="before ordering"),
        Metric("shd_ordered", "SHD", "shd", remark="ordered"),
        Metric("sid", "SID", "sid", digits=1),
        _share("f1", "F1 of the edges"),
        _share("precision", "Precision of the edges"),
        _share("recall", "Recall of the edges"),
        _share("confounder_recall", "Recall of the confounded pairs"),
        _share("confounder_precision", "Precision of the confounded pairs"),
        _share("lc_recall", "Recall of the confounded pairs by the paper's score"),
        _share("lc_precision", "Precision of the confounded pairs by the paper's score"),
        _share("edge_auprc", "Average precision of the edge probabilities"),
        Metric("confident", "Edges with a probability of 0.9 or more", "confident", digits=1, lower_is_better=False),
        Metric("confident_wrong", "Wrong ones among edges with a probability of 0.9 or more", "confident_wrong"),
        _share("verdicts_right", "Right verdicts on whether an intervention had an effect"),
        _share("targets_auprc", "Average precision of the probabilities of targets"),
        _share("hits_found", "Recall of the variables hit besides the targets"),
        _share("hits_right", "Precision of the variables hit besides the targets"),
        _share("flagged", "Fits that suspect a batch"),
    )
}
"""By the field of the record."""
