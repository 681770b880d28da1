/** The checks, and the test families with their parts. */
import { join } from 'node:path'

export interface Suite {
  readonly name: string
  readonly command: readonly string[]
  /** A program that passes or fails as a whole; otherwise a run of `bun test`, whose tests are counted. */
  readonly single: boolean
  /** Runs when no other does, after all others. Default false. */
  readonly alone?: boolean
  /** Takes little time of a processor: runs beside the others from the start, in a lane of its own. Default false. */
  readonly waits?: boolean
  /**
   * Its hubs run in processes that earlier ones have left (RECYCLED). Default false: each has a process of its own, as a family needs
   * whose limits of time or memory are for a fresh hub. A process that a test kills is not used again.
   */
  readonly recycles?: boolean
  /** It and its hubs give no memory back (KEPT_MEMORY), as those that recycle. Default false: it measures memory. */
  readonly keepsMemory?: boolean
  /** Further variables of its environment. */
  readonly env?: Readonly<Record<string, string>>
  /** The family with which it is run, too. */
  readonly partOf?: string
  /** The part of its files that this run takes, such as `1/2`. Default all. */
  readonly shard?: string
  /** Files that another family has. Default none. */
  readonly without?: readonly string[]
}

const bun = process.execPath
const whole = process.argv.includes('--whole')
const bin = (name: string): string => join('node_modules/.bin', name)

export const CHECKS: readonly Suite[] = [
  // Under Bun and not by their own first line, which asks for a newer Node than a machine may have.
  // Several checkers would check the shared types several times.
  { name: 'types', command: [bun, bin('tsc'), '-p', '.', '--checkers', '1'], single: true, env: { GOGC: '400' } },
  { name: 'lint', command: [bun, bin('biome'), 'check', '.'], single: true },
  { name: 'dead-code', command: [bun, bin('knip')], single: true },
  // Tests are left out, so that they do not keep unused code alive.
  { name: 'unused-in-production', command: [bun, bin('knip'), '--production'], single: true },
  { name: 'architecture', command: tests('./test/architecture.test.ts'), single: false },
]
/**
 * Families about stored data, on the other database too. The suite takes those where two people at the same time, or counts,
 * would show a difference.
 */
const ON_POSTGRES =
  whole || process.argv.includes('--changed')
    ? ['./test/unit/registry/']
    : ['audit-bounds', 'promotion-races', 'users'].map(name => `./test/unit/registry/${name}.test.ts`)
/** Files of `load` that count bytes and records: they measure no time, so that they run beside others. */
const ACCOUNTS = ['one-floods-the-log', 'stored-account', 'unread-routes'].map(name => `./test/load/${name}.test.ts`)
/** Files of `plugins` that measure the time of others. */
const COSTS = ['./test/plugins/guards/cost.test.ts']
/** Files of these families that wait for seconds each and take less than a fifth of a processor. */
const WAITS: Readonly<Record<string, readonly string[]>> = {
  unit: ['connections/health', 'connections/odd-answers', 'connections/era', 'http/half-open'],
  mcp: ['draining', 'tasks', 'extension-tasks', 'client-roots', 'per-user', 'session-questions'],
  failure: ['slow-starts', 'replaced-processes', 'lazy-and-sessions', 'remote-faults'],
  http: ['rare-codes', 'ended-meanwhile'],
  plugins: ['oauth-client/refresh', 'oauth-client/device-faults', 'oauth-client/revocation'],
}
/** The long ones first, in parts that take about a minute and take turns: a browser works while others wait. */
export const FAMILIES: readonly Suite[] = [
  ...inTurns(
    parts('browser', 5, { recycles: true }),
    parts('plugins', 5, { recycles: true, without: COSTS }),
    parts('mcp', 3, { recycles: true }),
    parts('http', 4, { recycles: true }),
    parts('unit', 5, { keepsMemory: true }),
    parts('failure', 3, { recycles: true }),
  ),
  family('patience', { partOf: 'failure', waits: true }),
  waits('plugins', { recycles: true }),
  waits('mcp', { recycles: true }),
  waits('failure', { recycles: true }),
  waits('unit', { keepsMemory: true }),
  waits('http', { recycles: true }),
  {
    name: 'postgres',
    command: [bun, 'test/support/with-postgres.ts', ...tests('./test/postgres/'), ...ON_POSTGRES],
    single: false,
    keepsMemory: true,
  },
  family('deploy', { keepsMemory: true }),
  family('compatibility', { keepsMemory: true }),
  family('conformance', { keepsMemory: true }),
  family('fuzz', { keepsMemory: true }),
  family('runtime'),
  { name: 'accounts', command: tests(...ACCOUNTS), single: false, partOf: 'load' },
  family('load', { alone: true, without: ACCOUNTS }),
  { name: 'costs', command: tests(...COSTS), single: false, alone: true, partOf: 'plugins' },
  { name: 'bench', command: tests('./test/bench/floors.test.ts'), single: false, alone: true },
]

function family(name: string, more: Partial<Suite> = {}): Suite {
  return { name, command: tests(`./test/${name}/`), single: false, ...more }
}

function parts(name: string, count: number, more: Partial<Suite> = {}): readonly Suite[] {
  const without = [...waitingFiles(name), ...(more.without ?? [])]
  const suite = family(name, { ...more, without })
  return Array.from({ length: count }, (_, index) => ({ ...suite, shard: `${index + 1}/${count}` }))
}

/** The files of a family that wait. */
function waits(name: string, more: Partial<Suite>): Suite {
  const command = tests(...waitingFiles(name))
  return { name: `${name}-waits`, command, single: false, partOf: name, waits: true, ...more }
}

function waitingFiles(name: string): readonly string[] {
  return (WAITS[name] ?? []).map(file => `./test/${name}/${file}.test.ts`)
}

/** The first of each list, then the second ones, and so on. */
function inTurns<T>(...lists: readonly (readonly T[])[]): readonly T[] {
  const longest = Math.max(...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, at) => lists.flatMap(list => list.slice(at, at + 1))).flat()
}

function tests(...paths: readonly string[]): readonly string[] {
  return [bun, 'test', '--timeout', whole ? '600000' : '120000', ...paths]
}
