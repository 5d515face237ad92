import { expect, test } from "vitest";
import { nodeOf, orderedSamples, sampleFormat, sampleTitle } from "./hardware";

test("samples have the names that people use", () => {
  expect(sampleTitle("system/node_0/gpu_1_memory_used_bytes")).toBe("GPU 1 memory used");
  expect(sampleTitle("system/node_12/cpu_percent")).toBe("CPU, %");
  expect([nodeOf("system/node_12/cpu_percent"), nodeOf("loss")]).toEqual([12, null]);
});

test("values have their unit", () => {
  expect(sampleFormat("system/node_0/memory_used_bytes")(2e9)).toBe("2.0 GB");
  expect(sampleFormat("system/node_0/cpu_percent")(99.54)).toBe("99.5 %");
  expect(sampleFormat("system/node_0/process_tree_cpu_cores")(1.5)).toBe("1.5");
});

test("nodes and GPUs are in the order of their numbers", () => {
  const names = ["system/node_10/cpu_percent", "system/node_2/disk_free_bytes", "system/node_2/gpu_10_percent", "system/node_2/gpu_9_percent"];
  expect(orderedSamples(names)).toEqual([names[3], names[2], names[1], names[0]]);
});
