const whole = process.env.PATCHBAY_WHOLE === '1'

/** How much of a long test is run: `core` in the suite, `all` with PATCHBAY_WHOLE=1, as `bun run soak` runs {@link LONG_TESTS}. */
export function extent<T>(core: T, all: T): T {
  return whole ? all : core
}

/** The files whose tests are a part of themselves in the suite. */
export const LONG_TESTS = [
  './test/failure/killed-in-writes.test.ts',
  './test/failure/key-rotation.test.ts',
  './test/failure/owner-transfers.test.ts',
  './test/failure/fail-at-each.test.ts',
  './test/failure/import-faults.test.ts',
  './test/failure/backup-faults.test.ts',
  './test/failure/random-operations.test.ts',
  './test/failure/soak.test.ts',
  './test/unit/history/large-history.test.ts',
  './test/unit/connections/protocol-errors.test.ts',
  './test/load/log-flood.test.ts',
  './test/load/noisy-neighbours.test.ts',
  './test/load/lists.test.ts',
  './test/http/canaries.test.ts',
  './test/http/import-hub.test.ts',
  './test/http/rights.test.ts',
  './test/http/start.test.ts',
  './test/http/traces.test.ts',
  './test/bench/floors.test.ts',
  './test/mcp/crowd.test.ts',
  './test/deploy/versions.test.ts',
  './test/plugins/market-npm.test.ts',
  './test/postgres/migrate.test.ts',
  './test/deploy/image.test.ts',
  './test/deploy/arm64.test.ts',
  './test/deploy/systemd.test.ts',
  './test/browser/',
  './test/compatibility/asking.test.ts',
  './test/compatibility/side-by-side.test.ts',
  './test/compatibility/group.test.ts',
  './test/compatibility/matrix.test.ts',
  './test/conformance/server-leg.test.ts',
  './test/conformance/references.test.ts',
] as const
