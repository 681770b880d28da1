import { join } from 'node:path'
import { bundledCommands } from '../../deploy/bundle.ts'

/** With `1`, hubs of tests that do not ask for a process of their own run in processes that earlier hubs have left. */
export const RECYCLED = 'TESTS_RECYCLE_PROCESSES'

/**
 * Bun's allocator gives no memory back, which it would ask for again soon: a fifth of the processor time of a short life. What measures
 * memory runs without.
 */
export const KEPT_MEMORY = { MIMALLOC_PURGE_DELAY: '-1' } as const

/** {@link KEPT_MEMORY} where the run of this test has it: for processes that get an environment of their own. */
export const keptMemory: Readonly<Record<string, string>> =
  process.env.MIMALLOC_PURGE_DELAY === KEPT_MEMORY.MIMALLOC_PURGE_DELAY ? KEPT_MEMORY : {}

/** The process of a hub as its test sees it. */
export interface HubProcess {
  readonly pid: number
  readonly exitCode: number | null
  readonly signalCode: Bun.Subprocess['signalCode']
  readonly exited: Promise<number>
  /** Resolves when the hub has ended and all that it wrote was read. */
  readonly output: Promise<unknown>
  kill(signal: NodeJS.Signals): void
}

/** The hub has all that was compiled for this many before; more would only grow the process. */
const MOST_RUNS = 30
const END = /\0end of a run: (\d+)\n/
/** Variables that Bun reads when a process starts. */
const OF_RUNTIME = /^(?:BUN_(?!RUNTIME_TRANSPILER)|NODE_|LD_|SSL_|JSC_|MALLOC_|TZ$|LANG$|LC_|PATH$|HOME$)/
/** The variable with the path of a file to which such a process adds its seconds of processors, as nobody waits for its end. */
export const PROCESSOR_TIMES = 'TESTS_PROCESSOR_TIMES'
const POOL = Symbol.for('processes of ended hubs')

/** The line behind all output of one hub. */
export function endOfRun(code: number): string {
  return `\0end of a run: ${code}\n`
}

/** True when a hub with these further variables may run where another one ran before. */
export function isRecyclable(env: Readonly<Record<string, string>>): boolean {
  return process.env[RECYCLED] === '1' && !Object.keys(env).some(name => OF_RUNTIME.test(name))
}

/** Runs a hub in a process in which no other runs now. Its output is added to `log`. */
export async function runRecycled(
  env: Readonly<Record<string, string>>,
  cwd: string,
  log: { text: string },
): Promise<HubProcess> {
  // Outlives the modules of one test file.
  const shared = globalThis as { [POOL]?: Host[] }
  shared[POOL] ??= []
  const pool = shared[POOL]
  let host = pool.pop()
  while (host && !host.isAlive) host = pool.pop()
  host ??= new Host(await start(cwd))
  return host.run(env, log, ended => {
    if (ended.isAlive && ended.runs < MOST_RUNS) pool.push(ended)
    else ended.dismiss()
  })
}

type Child = Bun.Subprocess<'pipe', 'pipe', 'pipe'>

async function start(cwd: string): Promise<Child> {
  const command = await bundledCommands()
  const { PATH = '', TMPDIR = '/tmp', BUN_RUNTIME_TRANSPILER_CACHE_PATH: cache } = process.env
  const times = process.env[PROCESSOR_TIMES] ?? '/dev/null'
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'hub-host.ts'), command, times], {
    ...{ cwd, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
    env: { PATH, TMPDIR, ...keptMemory, ...(cache === undefined ? {} : { BUN_RUNTIME_TRANSPILER_CACHE_PATH: cache }) },
  })
  child.unref()
  return child
}

/** One process and what it writes. */
class Host {
  readonly #child: Child
  #log: { text: string } = { text: '' }
  #ended = 0
  #end: ((code: number) => void) | undefined
  runs = 0

  constructor(child: Child) {
    this.#child = child
    void this.#gather(child.stdout)
    void this.#gather(child.stderr)
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Ends the process, in which no hub runs. */
  dismiss(): void {
    void this.#child.stdin.end()
  }

  run(env: Readonly<Record<string, string>>, log: { text: string }, ended: (host: Host) => void): HubProcess {
    const child = this.#child
    this.runs += 1
    this.#log = log
    this.#ended = 0
    const { promise, resolve } = Promise.withResolvers<number>()
    this.#end = resolve
    let code: number | undefined
    const exited = Promise.race([promise, child.exited]).then(last => {
      code = last
      ended(this)
      return last
    })
    void child.stdin.write(`${JSON.stringify(env)}\n`)
    void child.stdin.flush()
    return {
      pid: child.pid,
      exited,
      output: exited,
      get exitCode() {
        return code ?? child.exitCode
      },
      get signalCode() {
        return code === undefined ? child.signalCode : null
      },
      kill(signal) {
        // The process may belong to another hub already.
        if (code === undefined) child.kill(signal)
      },
    }
  }

  /** Output after the end of a run belongs to the next one, where an unhandled error is noticed. */
  async #gather(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of stream) {
      rest += decoder.decode(chunk, { stream: true })
      for (let end = END.exec(rest); end; end = END.exec(rest)) {
        this.#log.text += rest.slice(0, end.index)
        rest = rest.slice(end.index + end[0].length)
        this.#ended += 1
        if (this.#ended === 2) this.#end?.(Number(end[1]))
      }
      const begun = rest.lastIndexOf('\0')
      this.#log.text += begun < 0 ? rest : rest.slice(0, begun)
      rest = begun < 0 ? '' : rest.slice(begun)
    }
    this.#log.text += rest
  }
}
