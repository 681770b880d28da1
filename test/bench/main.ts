/** `bun run bench`: what the hub costs, measured against the same server without it. */
import { parseArgs } from 'node:util'
import { floodInterval, floodQuantile, measureFlood } from './flood.ts'
import { checkCosts, measureGuards } from './guards.ts'
import type { Wire } from './http-client.ts'
import { measureLogging } from './logging.ts'
import { Bench, type Measured, type Transport } from './measure.ts'
import { measureMemory } from './memory.ts'
import { alternate, best, bothWires, median } from './rounds.ts'
import { measureStartUp } from './startup.ts'

const USAGE = `bun run bench                        everything
  --only PART[,PART]                  of calls, wires, sessions, logging, guards, flood, startup, memory; stdio or http for one of them
  --rounds N                          3; medians are shown; of flood: pairs of hubs
  --seconds N                         0.8, of each measurement
  --wire legacy|modern                legacy; the era that clients of the hub speak`

const { values: options } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '0.8' },
    only: { type: 'string', default: '' },
    wire: { type: 'string', default: 'legacy' },
  },
})
if (options.help) {
  console.log(USAGE)
  process.exit(0)
}
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
if (!(rounds >= 1) || !(seconds > 0)) {
  console.error('--rounds is a whole number from 1 on, --seconds a number above 0')
  process.exit(2)
}
const { wire } = options
if (wire !== 'legacy' && wire !== 'modern') {
  console.error('--wire is legacy or modern')
  process.exit(2)
}
const only = options.only === '' ? [] : options.only.split(',')
const wanted = (part: string): boolean => only.length === 0 || only.includes(part)
const transports = (['http', 'stdio'] as const).filter(
  transport => !only.some(part => part === 'stdio' || part === 'http') || only.includes(transport),
)
const measuresCalls = wanted('calls') || only.includes('stdio') || only.includes('http')

function table(rows: readonly (readonly (string | number)[])[]): void {
  const texts = rows.map(row => row.map(String))
  const widths = (texts[0] ?? []).map((_, column) => Math.max(...texts.map(row => (row[column] ?? '').length)))
  for (const row of texts) {
    console.log(
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    )
  }
  console.log()
}

/**
 * `yardstick` holds the calls per second of the raw HTTP server by sessions in flight. The hub's figures for a stdio server
 * are compared with it, and with one child whose pipe all sessions share. The pipe shows the server alone: it joins many
 * calls in one read, which no set of clients can do.
 */
async function calls(bench: Bench, transport: Transport, yardstick: Map<number, number>): Promise<void> {
  const rows: (string | number)[][] = [
    [
      'in flight',
      'direct/s',
      'hub/s',
      'ratio',
      'best',
      'of raw HTTP',
      'of one pipe',
      'p50 ms',
      '+p50',
      'p99 ms',
      'direct p99',
      'CPU µs',
      'MB',
      'errors',
    ],
  ]
  for (const sessions of [1, 16, 64]) {
    const all = await alternate(bench, transport, sessions, rounds, seconds)
    const of = (pick: (round: (typeof all)[number]) => number): number => median(all.map(pick))
    if (transport === 'http')
      yardstick.set(
        sessions,
        of(round => round.direct.callsPerSecond),
      )
    const rawHttp = yardstick.get(sessions)
    const pipe = transport === 'stdio' ? await bench.direct('pipe', sessions, seconds) : undefined
    const share = (whole: number | undefined): string =>
      whole === undefined ? '-' : (of(round => round.hub.callsPerSecond) / whole).toFixed(3)
    rows.push([
      sessions,
      Math.round(of(round => round.direct.callsPerSecond)),
      Math.round(of(round => round.hub.callsPerSecond)),
      of(round => round.hub.callsPerSecond / round.direct.callsPerSecond).toFixed(3),
      best(all).ratio.toFixed(3),
      share(rawHttp),
      share(pipe?.callsPerSecond),
      of(round => round.hub.p50).toFixed(3),
      of(round => round.hub.p50 - round.direct.p50).toFixed(3),
      of(round => round.hub.p99).toFixed(3),
      of(round => round.direct.p99).toFixed(3),
      of(round => round.hub.cpuMicros).toFixed(1),
      (of(round => round.hub.residentBytes) / 1024 / 1024).toFixed(0),
      all.reduce((sum, round) => sum + round.hub.errors + round.direct.errors, 0),
    ])
    const failed = all.find(round => round.hub.firstError ?? round.direct.firstError)
    if (failed) console.log(`first error: ${failed.hub.firstError ?? failed.direct.firstError}\n`)
  }
  console.log(`${transport}, ${wire} wire: 64-byte echo, ${rounds} rounds of ${seconds} s, medians`)
  table(rows)
}

/** Measures the cost of the wire of 2026-07-28 against the older one. */
async function wires(bench: Bench): Promise<void> {
  const rows: (string | number)[][] = [
    ['', 'in flight', 'legacy/s', 'modern/s', 'ratio', 'legacy CPU µs', 'modern CPU µs', 'least', 'least', 'errors'],
  ]
  const add = async (name: string, inFlight: number, run: (wire: Wire) => Promise<Measured>): Promise<void> => {
    const all = await bothWires(rounds, run)
    const of = (pick: (round: (typeof all)[number]) => number): number => median(all.map(pick))
    const least = (pick: (round: (typeof all)[number]) => number): string => Math.min(...all.map(pick)).toFixed(1)
    rows.push([
      name,
      inFlight,
      Math.round(of(round => round.legacy.callsPerSecond)),
      Math.round(of(round => round.modern.callsPerSecond)),
      of(round => round.modern.callsPerSecond / round.legacy.callsPerSecond).toFixed(3),
      of(round => round.legacy.cpuMicros).toFixed(1),
      of(round => round.modern.cpuMicros).toFixed(1),
      least(round => round.legacy.cpuMicros),
      least(round => round.modern.cpuMicros),
      all.reduce((sum, round) => sum + round.legacy.errors + round.modern.errors, 0),
    ])
  }
  for (const inFlight of [1, 16, 64]) {
    await add('bare server', inFlight, wire => bench.bare(inFlight, seconds, wire))
    for (const transport of transports) {
      await add(`calls to ${transport}`, inFlight, wire => bench.through(transport, inFlight, seconds, wire))
      await add(`visits to ${transport}`, inFlight, wire => bench.visits(transport, inFlight, seconds, wire))
    }
  }
  console.log(`both wires by turns: 64-byte echo, ${rounds} rounds of ${seconds} s, medians`)
  table(rows)
}

async function sessions(bench: Bench, transport: Transport): Promise<void> {
  const run = await bench.through(transport, 256, Math.max(1, seconds))
  const told = run.firstError === undefined ? '' : `, first: ${run.firstError}`
  console.log(
    `${transport}, 256 sessions: ${Math.round(run.callsPerSecond)} calls/s, p99 ${run.p99.toFixed(1)} ms, ${run.errors} errors${told}`,
  )
}

if (measuresCalls || wanted('wires') || wanted('sessions')) {
  const bench = await Bench.start(wire)
  try {
    const yardstick = new Map<number, number>()
    if (measuresCalls) for (const transport of transports) await calls(bench, transport, yardstick)
    if (wanted('wires')) await wires(bench)
    if (wanted('sessions')) for (const transport of transports) await sessions(bench, transport)
    console.log()
  } finally {
    await bench.stop()
  }
}
if (wanted('logging')) {
  const rows: (string | number)[][] = [
    [
      '',
      'in flight',
      'off/s',
      'on/s',
      'ratio',
      'of each pair',
      'off CPU µs',
      'on CPU µs',
      'off p99',
      'on p99',
      'errors',
    ],
  ]
  for (const transport of transports) {
    const inFlight = [1, 16, 64]
    const all = await measureLogging(wire, transport, inFlight, rounds, seconds)
    for (const sessions of inFlight) {
      const hubs = all.map(({ off, on }) => ({ off: off.get(sessions) ?? [], on: on.get(sessions) ?? [] }))
      const of = (kind: 'off' | 'on', pick: (one: Measured) => number): number =>
        median(hubs.flatMap(pair => pair[kind].map(pick)))
      const ratios = hubs.map(
        ({ off, on }) => median(on.map(one => one.callsPerSecond)) / median(off.map(one => one.callsPerSecond)),
      )
      rows.push([
        transport,
        sessions,
        Math.round(of('off', one => one.callsPerSecond)),
        Math.round(of('on', one => one.callsPerSecond)),
        (of('on', one => one.callsPerSecond) / of('off', one => one.callsPerSecond)).toFixed(3),
        ratios.map(ratio => ratio.toFixed(2)).join(' '),
        of('off', one => one.cpuMicros).toFixed(1),
        of('on', one => one.cpuMicros).toFixed(1),
        of('off', one => one.p99).toFixed(2),
        of('on', one => one.p99).toFixed(2),
        hubs.flatMap(({ off, on }) => [...off, ...on]).reduce((sum, one) => sum + one.errors, 0),
      ])
    }
  }
  console.log(
    `log file, history and traces at 1 % against none of them, pairs of hubs, ${rounds} rounds of ${seconds} s with each, medians`,
  )
  table(rows)
}
if (wanted('guards')) {
  const rows: (string | number)[][] = [['', 'calls/s', 'CPU µs', 'p50 ms', 'p99 ms', 'errors']]
  for (const [state, all] of await measureGuards(wire, rounds, seconds)) {
    const of = (pick: (one: Measured) => number): number => median(all.map(pick))
    rows.push([
      state,
      Math.round(of(one => one.callsPerSecond)),
      of(one => one.cpuMicros).toFixed(1),
      of(one => one.p50).toFixed(3),
      of(one => one.p99).toFixed(3),
      all.reduce((sum, one) => sum + one.errors, 0),
    ])
  }
  console.log(`content rules, 64-byte echo over http, 16 in flight, ${rounds} rounds of ${seconds} s, medians`)
  table(rows)
  const costs = [64, 4_096, 65_536, 10_000_000].map(bytes => [bytes, checkCosts(bytes)] as const)
  table([
    ['one check, ms', 'secrets', 'everything'],
    ...costs.map(([bytes, { secrets = 0, everything = 0 }]) => [
      `${bytes} bytes`,
      secrets.toPrecision(2),
      everything.toPrecision(2),
    ]),
  ])
}
if (wanted('flood')) {
  const all = await measureFlood(rounds, seconds)
  const rows: (string | number)[][] = [['', 'off ms', 'on ms', 'ratio', '90 % of ratios']]
  for (const [name, share] of [
    ['p50', 0.5],
    ['p90', 0.9],
    ['p99', 0.99],
  ] as const) {
    const { off, on, ratio } = floodQuantile(all, share)
    const interval = floodInterval(all, share).map(bound => bound.toFixed(2))
    rows.push([name, off.toFixed(3), on.toFixed(3), ratio.toFixed(2), interval.join(' to ')])
  }
  console.log(
    `200 calls/s beside 20,000 records/s, log file and history against no logging, ${all.length} pairs of hubs, ${seconds} s each`,
  )
  table(rows)
}
if (wanted('startup')) {
  const rows: (string | number)[][] = [
    [
      'servers (one hangs from 20 on)',
      'listening ms',
      'others online ms',
      'first tools/list ms',
      'tools',
      'by hand ms',
    ],
  ]
  for (const servers of [1, 20, 50]) {
    const one = await measureStartUp(servers)
    rows.push([
      servers,
      ...[one.listeningMs, one.othersOnlineMs, one.toolsListMs].map(Math.round),
      one.toolsListed,
      Math.round(one.bareMs),
    ])
  }
  table(rows)
}
if (wanted('memory')) {
  const memory = await measureMemory()
  table([
    [
      'resident MB of the hub alone',
      'empty',
      `${memory.few} idle stdio`,
      `${memory.many} idle stdio`,
      'per further server',
    ],
    [
      '',
      memory.emptyMb.toFixed(1),
      memory.withFewMb.toFixed(1),
      memory.withManyMb.toFixed(1),
      memory.perServerMb.toFixed(3),
    ],
  ])
}
