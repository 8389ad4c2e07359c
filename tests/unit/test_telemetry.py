"""What is counted comes out under the names that operators were promised, and with no word that anybody said."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, get_args

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from prometheus_client.parser import text_string_to_metric_families

from recollect.ports.meter import CounterName, GaugeName, NoMeter, TimerName, timed
from recollect.telemetry.catalogue import BUCKETS, COUNTERS, GAUGES, MAX_VALUES, OTHER, TIMERS
from recollect.telemetry.every import EveryMeter
from recollect.telemetry.opentelemetry import OpenTelemetryMeter
from recollect.telemetry.prometheus import CONTENT_TYPE, PrometheusMeter

#: The five of the design, as Prometheus and as OpenTelemetry name them.
PROMISED = {
    "memory_extraction_count_total": "memory.extraction.count",
    "memory_extraction_success_total": "memory.extraction.success",
    "memory_extraction_errors_total": "memory.extraction.errors",
    "memory_saved_count_total": "memory.saved.count",
    "memory_retrieved_count_total": "memory.retrieved.count",
}


def samples(meter: PrometheusMeter) -> dict[tuple[str, tuple[str, ...]], float]:
    """Return what Prometheus reads: a value for each name and its label values."""
    found = {}
    for family in text_string_to_metric_families(meter.render().decode()):
        for sample in family.samples:
            found[sample.name, tuple(sample.labels.values())] = sample.value
    return found


def collected(reader: InMemoryMetricReader) -> dict[str, list[Any]]:
    """Return the data points that OpenTelemetry collects, by name."""
    data = reader.get_metrics_data()
    assert isinstance(data, MetricsData)
    metrics = [one for resource in data.resource_metrics for scope in resource.scope_metrics for one in scope.metrics]
    return {metric.name: list(metric.data.data_points) for metric in metrics}


def count_something(meter: Any) -> None:
    for times, name in enumerate(PROMISED.values(), 1):
        for _ in range(times):
            meter.add(name)
    meter.add("memory.saved.count", 10)
    meter.add("memory.saved.count", 0)
    meter.add("memory.rejected.count", 2, reason="ungrounded")
    meter.add("memory.rejected.count", reason="secret")
    meter.add("recollect.job.attempts", kind="extract", outcome="done")
    meter.add("recollect.job.attempts", kind="extract", outcome="dead")
    meter.observe("recollect.recall.duration", 0.004)
    meter.observe("recollect.recall.duration", 700)
    meter.observe("recollect.job.duration", 2, kind="extract")
    meter.gauge("recollect.model.circuit", lambda: 1)
    meter.gauge("recollect.model.circuit", lambda: 2)


@pytest.mark.spec("S1.12")
def test_prometheus_reads_each_count_under_its_name() -> None:
    meter = PrometheusMeter()
    before = samples(meter)
    assert [before[name, ()] for name in PROMISED] == [0, 0, 0, 0, 0]
    count_something(meter)
    after = samples(meter)
    assert [after[name, ()] for name in PROMISED] == [1, 2, 3, 14, 5]
    assert after["memory_rejected_count_total", ("ungrounded",)] == 2
    assert after["memory_rejected_count_total", ("secret",)] == 1
    assert after["recollect_job_attempts_total", ("extract", "done")] == 1
    assert after["recollect_job_attempts_total", ("extract", "dead")] == 1
    assert after["recollect_recall_duration_seconds_count", ()] == 2
    assert after["recollect_recall_duration_seconds_bucket", ("0.005",)] == 1
    assert after["recollect_recall_duration_seconds_bucket", (str(BUCKETS[-1]),)] == 1
    assert after["recollect_job_duration_seconds_sum", ("extract",)] == 2
    assert after["recollect_model_circuit", ()] == 2
    assert not [name for name, _ in after if name.endswith("_created")]


@pytest.mark.spec("S1.12")
def test_opentelemetry_keeps_the_dotted_names() -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    count_something(OpenTelemetryMeter(provider))
    found = collected(reader)
    assert [found[name][0].value for name in PROMISED.values()] == [1, 2, 3, 14, 5]
    rejected = {point.attributes["reason"]: point.value for point in found["memory.rejected.count"]}
    assert rejected == {"ungrounded": 2, "secret": 1}
    recalled = found["recollect.recall.duration"][0]
    assert (recalled.count, recalled.sum, recalled.explicit_bounds) == (2, 700.004, BUCKETS)
    assert found["recollect.model.circuit"][0].value == 2
    provider.shutdown()


def test_every_name_of_the_port_has_a_meter() -> None:
    assert (set(COUNTERS), set(TIMERS), set(GAUGES)) == (
        set(get_args(CounterName)),
        set(get_args(TimerName)),
        set(get_args(GaugeName)),
    )


def test_what_is_shown_says_what_it_is_and_what_type_it_has() -> None:
    meter = PrometheusMeter()
    families = {family.name: family for family in text_string_to_metric_families(meter.render().decode())}
    assert {families[name.replace(".", "_")].documentation for name in COUNTERS} == {
        about.help for about in COUNTERS.values()
    }
    assert CONTENT_TYPE.startswith("text/plain")


def test_two_meters_of_one_process_share_no_count() -> None:
    one, other = PrometheusMeter(), PrometheusMeter()
    one.add("memory.saved.count", 3)
    assert samples(other)["memory_saved_count_total", ()] == 0


@pytest.mark.parametrize(
    "said", ["My name is Alice", "alice@example.org", "х", "", "a" * 41, "two\nlines", 'quoted"', "Ünï", "0190-uuid"]
)
def test_no_word_that_was_said_becomes_a_label(said: str) -> None:
    meter = PrometheusMeter()
    meter.add("memory.rejected.count", reason=said)
    meter.add("recollect.job.attempts", kind=said, outcome=said)
    meter.observe("recollect.job.duration", 1, kind=said)
    after = samples(meter)
    assert after["memory_rejected_count_total", (OTHER,)] == 1
    assert after["recollect_job_attempts_total", (OTHER, OTHER)] == 1
    assert after["recollect_job_duration_seconds_count", (OTHER,)] == 1
    assert not said or said not in meter.render().decode()


def test_a_label_that_the_meter_does_not_have_is_left_out() -> None:
    meter = PrometheusMeter()
    meter.add("memory.saved.count", reason="alice", kind="alice", outcome="alice")
    assert samples(meter)["memory_saved_count_total", ()] == 1
    assert b"alice" not in meter.render()


def test_labels_stay_few_whatever_is_counted() -> None:
    meter = PrometheusMeter()
    for number in range(3 * MAX_VALUES):
        meter.add("memory.rejected.count", reason="x" * (1 + number % 40) + "-" + "y" * (1 + number // 40))
        meter.add("memory.rejected.count", reason="usual")
    found = {labels: value for (name, labels), value in samples(meter).items() if name.startswith("memory_rejected")}
    assert len(found) == MAX_VALUES + 1
    assert found["usual",] == 3 * MAX_VALUES
    assert found[OTHER,] == 2 * MAX_VALUES + 1


def test_several_meters_are_told_the_same() -> None:
    one, other = PrometheusMeter(), PrometheusMeter()
    count_something(EveryMeter(one, other, NoMeter()))
    assert samples(one) == samples(other)
    assert samples(one)["memory_saved_count_total", ()] == 14


def test_what_fails_is_timed_too() -> None:
    meter = PrometheusMeter()
    with pytest.raises(LookupError), timed(meter, "recollect.recall.duration"):
        raise LookupError
    with timed(meter, "recollect.recall.duration"):
        pass
    assert samples(meter)["recollect_recall_duration_seconds_count", ()] == 2


def test_a_missing_package_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from recollect.errors import MissingExtraError\n"
        "try:\n    import recollect.telemetry.opentelemetry\n"
        "except MissingExtraError as exc:\n    print(exc)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "install recollect[otel]" in done.stdout


def test_no_client_is_imported_before_it_is_wanted() -> None:
    script = "import sys, recollect.ports.meter, recollect.telemetry\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert not {"prometheus_client", "opentelemetry"} & set(done.stdout.split())
