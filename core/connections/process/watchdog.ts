import type { PluginLogger } from '../../contract/plugin.ts'

/**
 * Keeps a list of process groups, and kills them when its input ends, which happens whenever the hub ends. It begins with
 * those in its arguments, so that it knows them even when the hub ends before it has written a line. Plain sh takes 2 MB
 * where another Bun would take 25. dash accepts a negative id only after `--`, some others only without.
 */
const SCRIPT = `trap '' INT TERM HUP QUIT
groups=" $* "
while read -r what group; do
  case $what in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
  esac
done
for group in $groups; do
  kill -s KILL -- "-$group" 2>/dev/null || kill -s KILL "-$group" 2>/dev/null
done`

const RESTART_MS = 1_000

/** The process that kills the hub's children when the hub cannot, such as after a `kill -9`. */
export class Watchdog {
  readonly #log: PluginLogger
  readonly #groups = new Set<number>()
  #process: Bun.Subprocess<'pipe', 'ignore', 'ignore'> | undefined
  #restart: ReturnType<typeof setTimeout> | undefined
  #disposed = false

  constructor(log: PluginLogger) {
    this.#log = log
  }

  add(group: number): void {
    this.#groups.add(group)
    if (this.#process) this.#send(`+ ${group}`)
    else this.#start()
  }

  delete(group: number): void {
    if (this.#groups.delete(group)) this.#send(`- ${group}`)
  }

  /** Ends the process. Call it once no child is left. */
  async dispose(): Promise<void> {
    this.#disposed = true
    clearTimeout(this.#restart)
    const running = this.#process
    if (!running) return
    this.#process = undefined
    await running.stdin.end()
    await running.exited
  }

  #start(): void {
    if (this.#disposed || this.#restart) return
    try {
      this.#process = Bun.spawn(['/bin/sh', '-c', SCRIPT, 'watchdog', ...[...this.#groups].map(String)], {
        stdin: 'pipe',
        stdout: 'ignore',
        stderr: 'ignore',
        env: {},
        // A session of its own: Ctrl-C in the hub's terminal must not end it before the hub.
        detached: true,
        onExit: () => this.#exited(),
      })
    } catch (error) {
      this.#log.warn('The watchdog could not be started: a kill -9 of the hub may leave processes behind', {
        error: String(error),
      })
    }
  }

  #exited(): void {
    this.#process = undefined
    if (this.#disposed) return
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      if (this.#groups.size > 0) this.#start()
    }, RESTART_MS)
  }

  #send(line: string): void {
    const running = this.#process
    if (!running) return
    running.stdin.write(`${line}\n`)
    running.stdin.flush()
  }
}
