"""Round trips of frames: Arrow to buffers to pandas, in memory and through a file, and back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from footplate.content.frames import FrameFile

from ....unit.data.tabular.test_frames import TABLE, frame_of


def test_reading_a_frame_does_not_need_arrow(tmp_path: Path) -> None:
    frame = frame_of(TABLE.select(["i", "t", "when"]))
    with open(tmp_path / "frame", "wb") as out:
        file = FrameFile(out, frame.columns)
        for index in range(len(frame.columns[0].chunks)):
            file.add(frame.columns[0].chunks[index].rows, [c.chunks[index].buffers for c in frame.columns])
        file.finish()
    script = f"""
import sys
sys.modules["pyarrow"] = None  # importing it fails
from footplate.content.frames import read_frame
from footplate.sdk.data.dataframe import to_pandas
made = to_pandas(read_frame({str(tmp_path / "frame")!r}))
print(made.t.tolist(), made.i.sum(), made.when.isna().sum())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['x', '', 'ü'] 2 1\n", "")
