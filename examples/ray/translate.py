"""Translates a file of lines on Ray: translate.py MODEL INPUT OUTPUT [KEY=VALUE...]

    python examples/ray/translate.py models/de-en lines.de out beam=4
    cat out/part-*

Every node has the package residual, and the paths lead to the same files everywhere. RAY_ADDRESS
names the cluster; without it, Ray runs on this machine. Run it again after a failure: parts that
are done are kept. An actor loads the model once and uses one thread.
"""

import json
import sys

import ray
from ray.util import ActorPool

from residual.bulk import Job


@ray.remote(num_cpus=1, max_restarts=3, max_task_retries=3)
class Worker:
    def run(self, job, part):
        return job.run(part)


def value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def main(model, source, output, *settings):
    given = {key: value(text) for key, text in (each.split("=", 1) for each in settings)}
    lines = given.pop("lines", 2000)
    job = Job(model, source, output, lines, {"threads": 1, **given})
    parts = job.parts()
    ray.init(log_to_driver=False)
    try:
        count = max(1, min(len(parts), int(ray.cluster_resources()["CPU"])))
        pool = ActorPool([Worker.remote() for _ in range(count)])
        translated = sum(
            pool.map_unordered(lambda worker, part: worker.run.remote(job, part), parts)
        )
    finally:
        ray.shutdown()
    print(f"{translated} lines translated, {len(parts)} parts in {output}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
