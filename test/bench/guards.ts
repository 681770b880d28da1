import { check } from '../../plugins/guards/check/check.ts'
import { compile } from '../../plugins/guards/check/compile.ts'
import type { Client } from '../support/client.ts'
import type { Wire } from './http-client.ts'
import { Bench, type Measured } from './measure.ts'

const IN_FLIGHT = 16
const WARM_SECONDS = 4
const patterns = Array.from({ length: 20 }, (_, at) => `project ${at}*secret`)
const EVERYTHING = { secrets: true as const, personal: true as const, pattern: patterns, domains: ['*.example.com'] }

/** The states of the plugin that are compared: what is done before the calls. */
const STATES: Readonly<
  Record<string, { readonly enabled: boolean; readonly rules: Readonly<Record<string, object>> }>
> = {
  'plugin off': { enabled: false, rules: {} },
  'no rules': { enabled: true, rules: {} },
  'rules of another server': { enabled: true, rules: { 'echo-stdio': EVERYTHING } },
  secrets: { enabled: true, rules: { 'echo-http': { secrets: true } } },
  everything: { enabled: true, rules: { 'echo-http': EVERYTHING } },
}

async function enter(admin: Client, state: string): Promise<void> {
  const { enabled, rules } = STATES[state] ?? { enabled: false, rules: {} }
  await admin.ok('PATCH', '/api/admin/plugins/guards', { enabled })
  if (!enabled) return
  for (const server of ['echo-stdio', 'echo-http']) {
    const match = rules[server]
    await admin.ok('PUT', `/api/servers/${server}/guards`, { rules: match ? [{ id: 'r', match, then: 'mask' }] : [] })
  }
}

/** Calls with the plugin for content rules in each state, by turns; the measurements of each. */
export async function measureGuards(
  wire: Wire,
  rounds: number,
  seconds: number,
): Promise<ReadonlyMap<string, readonly Measured[]>> {
  const bench = await Bench.start(wire)
  try {
    const admin = await bench.hub.setup()
    await bench.through('http', IN_FLIGHT, WARM_SECONDS)
    const found = new Map<string, Measured[]>(Object.keys(STATES).map(state => [state, []]))
    for (let round = 0; round < rounds; round += 1)
      for (const [state, all] of found) {
        await enter(admin, state)
        all.push(await bench.through('http', IN_FLIGHT, seconds))
      }
    return found
  } finally {
    await bench.stop()
  }
}

/** Milliseconds of one check of a text of this many bytes, by what it looks for. */
export function checkCosts(bytes: number): Readonly<Record<string, number>> {
  const text = 'The weather in Paris is 21 degrees, see https://www.example.com/paris?day=1 for the week. '
  const result = JSON.stringify({ content: [{ type: 'text', text: text.repeat(Math.ceil(bytes / text.length)) }] })
  const cost = (match: object): number => {
    const rules = [compile({ id: 'r', match, then: 'mask' })]
    const repeats = Math.max(1, Math.min(2_000, Math.round(2_000_000 / bytes)))
    for (let warm = 0; warm < repeats; warm += 1) check(result, rules)
    const startedMs = performance.now()
    for (let repeat = 0; repeat < repeats; repeat += 1) check(result, rules)
    return (performance.now() - startedMs) / repeats
  }
  return { secrets: cost({ secrets: true }), everything: cost(EVERYTHING) }
}
