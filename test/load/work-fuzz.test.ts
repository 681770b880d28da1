import { expect, test } from 'bun:test'
import { startHub, stdioFixture } from '../support/hub.ts'
import { fuzzWork } from '../support/work-fuzz.ts'

/** How often everything is sent; `bun run soak` says more. */
const ROUNDS = Number(process.env.PATCHBAY_WORK_ROUNDS ?? 1)
/** Of one round, in milliseconds. A busy machine makes fewer requests in it. */
const LIMIT_MS = 30_000

test(
  'no body that a route or an MCP method takes holds the main thread over 50 ms, or costs more than n log n',
  async () => {
    const offers = {
      PROMPTS: '["hello"]',
      RESOURCES: '["file:///a"]',
      TEMPLATES: '["file:///{+path}", "note://{a}/{b}/{c}"]',
    }
    const hub = await startHub({
      watchTurns: true,
      settings: { mcpServers: { s: stdioFixture('varied', offers), t: { command: 'true', enabled: false } } },
    })
    try {
      const startMs = performance.now()
      const { requests, worst, problems } = await fuzzWork(hub, { limitMs: ROUNDS * LIMIT_MS, rounds: ROUNDS })
      console.log(`${requests} requests in ${((performance.now() - startMs) / 1000).toFixed(1)} s; the costliest:`)
      for (const { name, ms, status } of worst) console.log(`  ${ms.toFixed(1)} ms  ${status}  ${name}`)
      expect(problems).toEqual([])
      expect(requests).toBeGreaterThan(20)
    } finally {
      await hub.stop()
    }
  },
  ROUNDS * LIMIT_MS + 60_000,
)
