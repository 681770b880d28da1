import { chmod, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Client, send } from './client.ts'
import { fixture } from './fixtures.ts'
import { HUB_MAIN } from './hub-main.ts'
import { atMost } from './pace.ts'
import { PLUGINS_OFF } from './plugins-off.ts'
import { descendants } from './processes.ts'
import { type HubProcess, isRecyclable, keptMemory, runRecycled } from './recycled.ts'
import { makeTemp, removeTemp } from './temp.ts'
import { until } from './wait.ts'

export { Client, send } from './client.ts'

export const ROOT = join(import.meta.dir, '../..')
export const PASSWORD = 'correct horse battery staple 7'
/** Bun's cache of transpiled files: without it a hub with a new home folder would transpile again, a fifth of its start. */
export const BUN_CACHE = {
  BUN_RUNTIME_TRANSPILER_CACHE_PATH:
    process.env.BUN_RUNTIME_TRANSPILER_CACHE_PATH ?? join(homedir(), '.bun/install/cache/@t@'),
}
/** Opens the fixtures on 127.0.0.1 to the servers of ordinary users. */
export const LOOPBACK = { OUTBOUND_ALLOW: '127.0.0.0/8' }

/** The settings entry of a fixture that uses stdio, started by the Bun that runs the test. */
export function stdioFixture(name: string, env: Record<string, string> = {}, ...args: string[]): object {
  return { command: process.execPath, args: [fixture(name), ...args], env }
}

export interface HubOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Content of the settings file: an object, or a text that is written as it is. Default: no servers. */
  readonly settings?: object | string
  /** A program, with its arguments, that starts the hub in its own place. */
  readonly wrap?: readonly string[]
  /**
   * Program that is started instead of {@link HUB_MAIN} with this Bun, in the folder of the hub instead of the repository, and
   * without a settings file unless `settings` is given.
   */
  readonly program?: readonly string[]
  /** Arguments behind {@link HUB_MAIN}. */
  readonly args?: readonly string[]
  /** A data folder of an earlier hub; its settings file is kept unless `settings` is given. */
  readonly folder?: string
  /** True to let `watchFor` request the number of timers. Default false. */
  readonly countTimers?: boolean
  /** True to enable {@link Hub.longestTurnMs}. Default false. */
  readonly watchTurns?: boolean
  /** True to enable {@link Hub.moveClock}. Default false. */
  readonly shiftedClock?: boolean
  /** Longest wait for the address. Default 60_000. */
  readonly timeoutMs?: number
  /**
   * The hub runs in a process that nothing else ran in. Default false: a run of the suite recycles processes of hubs that have
   * stopped, which saves more than half of a start. A test needs its own where it measures the process, or ends it with a fault.
   */
  readonly ownProcess?: boolean
}

/** A hub that runs as a process of its own, with all it writes in a folder under the system's temporary folder. */
export class Hub {
  readonly url: string
  readonly pid: number
  readonly folder: string
  readonly dataDir: string
  readonly settingsFile: string
  readonly #process: HubProcess
  readonly #log: { text: string }
  readonly #people: Client[] = []
  #admin: Promise<Client> | undefined

  constructor(url: string, child: HubProcess, folder: string, log: { text: string }) {
    this.url = url
    this.pid = child.pid
    this.folder = folder
    this.dataDir = join(folder, 'data')
    this.settingsFile = join(folder, 'mcp_settings.json')
    this.#process = child
    this.#log = log
  }

  /** Everything the process has written so far, both streams. */
  log(): string {
    return this.#log.text
  }

  /** Waits for a text in the log, whose lines arrive later than the answers of the requests that caused them. */
  logged(text: string): Promise<boolean> {
    return until(() => this.log().includes(text), { what: `"${text}" in the log` })
  }

  /** Processor time of the longest turn of the main thread since the last call, with `watchTurns`. */
  async longestTurnMs(): Promise<number> {
    const said = () => [...this.#log.text.matchAll(/^longest turn: (.+)$/gm)].map(([, ms]) => Number(ms))
    const before = said().length
    this.signal('SIGUSR2')
    return until(() => said()[before], { what: 'the longest turn' })
  }

  /** Lets the dates of the hub be later than those of the test by this much, with `shiftedClock`. */
  async moveClock(laterMs: number): Promise<void> {
    await writeFile(join(this.folder, 'clock'), String(laterMs))
    const said = () => this.#log.text.split(`clock: ${laterMs}\n`).length
    const before = said()
    this.signal('SIGUSR2')
    await until(() => said() > before, { what: 'the moved clock' })
  }

  get setupToken(): string | undefined {
    return /set-?up token: ([^\s"\\]+)/i.exec(this.#log.text)?.[1]
  }

  /** The administrator `admin`, made by the set-up page's route at the first call. */
  setup(): Promise<Client> {
    this.#admin ??= this.#setup()
    return this.#admin
  }

  async #setup(): Promise<Client> {
    const token = await until(() => this.setupToken, { what: `the set-up token in the log:\n${this.log()}` })
    const answer = await send(this.url, 'POST', '/api/setup', { token, username: 'admin', password: PASSWORD })
    if (answer.status > 299) throw new Error(`Set-up answered ${answer.status}: ${answer.text}`)
    const admin = this.#person('admin', answer.json.token)
    for (const name of PLUGINS_OFF) await admin.ok('PATCH', `/api/admin/plugins/${name}`, { enabled: false })
    return admin
  }

  /** Signs in an existing user. */
  async signIn(name: string, password = PASSWORD): Promise<Client> {
    const answer = await send(this.url, 'POST', '/api/auth/login', { username: name, password })
    if (answer.status > 299) throw new Error(`Sign-in of ${name} answered ${answer.status}: ${answer.text}`)
    return this.#person(name, answer.json.token)
  }

  /** A person made by the administrator and signed in. */
  async user(name: string, role: 'user' | 'admin' = 'user'): Promise<Client> {
    const admin = await this.setup()
    await admin.ok('POST', '/api/admin/users', { username: name, password: PASSWORD, role })
    return this.signIn(name)
  }

  #person(name: string, token: string): Client {
    const client = new Client(this.url, name, token)
    this.#people.push(client)
    return client
  }

  /** Lines of the log about errors that the hub left unhandled, in the main thread and in workers. */
  unhandled(): string[] {
    return this.#log.text.split('\n').filter(isUnhandled)
  }

  /**
   * Sends TERM and resolves with the exit code. The folder is removed unless `keep`. Throws if the hub logged an unhandled
   * error, so that every test fails on one; `unhandled`: number of those that the test itself caused.
   */
  async stop(
    options: { readonly keep?: boolean; readonly timeoutMs?: number; readonly unhandled?: number } = {},
  ): Promise<number> {
    await Promise.all(this.#people.map(person => person.close()))
    if (this.#process.exitCode === null && this.#process.signalCode === null) this.#process.kill('SIGTERM')
    const code = await this.exited(options.timeoutMs ?? 35_000)
    if (!options.keep) await removeTemp(this.folder)
    const unhandled = this.unhandled()
    if (unhandled.length !== (options.unhandled ?? 0))
      throw new Error(`The hub left errors unhandled:\n${unhandled.join('\n')}`)
    return code
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name)
  }

  /** The exit code, 128 + n after a signal. Kills the whole tree and throws when the process does not end in time. */
  async exited(timeoutMs = 35_000): Promise<number> {
    const late = Promise.withResolvers<undefined>()
    // Cleared at once, since a pending timer would keep the program running.
    const timer = setTimeout(() => late.resolve(undefined), atMost(timeoutMs))
    const ended = await Promise.race([this.#process.exited, late.promise])
    clearTimeout(timer)
    if (ended !== undefined) return ended
    const children = descendants(this.pid)
    for (const { pid } of [{ pid: this.pid }, ...children]) killQuietly(pid)
    throw new Error(`The hub did not end within ${timeoutMs} ms. Its log:\n${this.log()}`)
  }

  /** `kill -9`. Resolves when the process has ended; its children keep running. */
  async kill9(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#process.exited
  }
}

/** Lines that the hub itself writes. A message with an error of a server, which may have these words, begins with other ones. */
const UNHANDLED = /^(?:unhandled rejection|uncaught exception|error: internal: )/i

function isUnhandled(line: string): boolean {
  const message = /^\{.*"message":"((?:[^"\\]|\\.)*)/.exec(line)?.[1]
  return UNHANDLED.test(message ?? line)
}

/** Starts {@link HUB_MAIN} on a free port and waits for its address. */
export async function startHub(options: HubOptions = {}): Promise<Hub> {
  const folder = options.folder ?? (await makeTemp('hub'))
  // The folders above the data folder must be searchable for the users of sandboxed servers.
  await chmod(folder, 0o711)
  const settingsFile = join(folder, 'mcp_settings.json')
  const fresh = options.folder === undefined && options.program === undefined
  const settings = options.settings ?? (fresh ? { mcpServers: {} } : undefined)
  if (settings !== undefined) {
    await writeFile(settingsFile, typeof settings === 'string' ? settings : JSON.stringify(settings, null, 2), {
      mode: 0o600,
    })
  }
  const log = { text: '' }
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    TMPDIR: process.env.TMPDIR ?? '/tmp',
    ...BUN_CACHE,
    ...keptMemory,
    PORT: '0',
    DATA_DIR: join(folder, 'data'),
    SETTINGS_FILE: settingsFile,
    ...options.env,
  }
  const { wrap, program, args, countTimers, watchTurns, shiftedClock, ownProcess } = options
  const isOwn = [wrap, program, args, countTimers, watchTurns, shiftedClock, ownProcess].some(Boolean)
  const recycled = !isOwn && isRecyclable(options.env ?? {})
  const child = recycled ? await runRecycled(env, ROOT, log) : spawnHub(options, env, folder, log)
  const deadline = performance.now() + atMost(options.timeoutMs ?? 60_000)
  for (;;) {
    const url = /listening on (https?:\/\/[^\s"\\,}]+)/.exec(log.text)?.[1]
    if (url !== undefined) return new Hub(url, child, folder, log)
    if (child.exitCode !== null || child.signalCode !== null) {
      await child.output
      if (options.folder === undefined) await removeTemp(folder)
      throw new HubDidNotStart(child.exitCode ?? -1, log.text)
    }
    if (performance.now() > deadline) {
      child.kill('SIGKILL')
      if (options.folder === undefined) await removeTemp(folder)
      throw new Error(`The hub did not say where it listens. Its log:\n${log.text}`)
    }
    await Bun.sleep(10)
  }
}

/** A process of its own. */
function spawnHub(options: HubOptions, env: Record<string, string>, folder: string, log: { text: string }): HubProcess {
  const { countTimers, watchTurns, shiftedClock } = options
  const loaded = [
    ...(countTimers ? ['count-timers.ts'] : []),
    ...(watchTurns ? ['turn-watch.ts'] : []),
    ...(shiftedClock ? ['shifted-clock.ts'] : []),
  ]
  const preload = loaded.flatMap(file => ['--preload', join(import.meta.dir, file)])
  const program = options.program ?? [process.execPath, ...preload, HUB_MAIN]
  const child = Bun.spawn([...(options.wrap ?? []), ...program, ...(options.args ?? [])], {
    ...{ cwd: options.program ? folder : ROOT, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', env },
  })
  const reading = [gather(child.stdout, log), gather(child.stderr, log)]
  return Object.assign(child, { output: Promise.all(reading) })
}

/** The process ended before it listened. */
export class HubDidNotStart extends Error {
  readonly exitCode: number
  readonly log: string

  constructor(exitCode: number, log: string) {
    super(`The hub ended with ${exitCode} before it listened. Its log:\n${log}`)
    this.exitCode = exitCode
    this.log = log
  }
}

async function gather(stream: ReadableStream<Uint8Array>, into: { text: string }): Promise<void> {
  const decoder = new TextDecoder()
  for await (const chunk of stream) into.text += decoder.decode(chunk, { stream: true })
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
