import { type FSWatcher, realpathSync, type Stats, statSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Debounce after the last file event, in milliseconds: an editor causes several at once. */
const DEBOUNCE_MS = 100
/** Time for which invalid content may be an unfinished write, in milliseconds. */
const SETTLE_MS = 400
/** Polling interval, in milliseconds. Single files mounted into a container, and many network file systems, emit no
 * events. */
const POLL_MS = 2_000

/**
 * Calls `check` when a file may have changed. Watches the folder, since a watch on the file ends with the first rename
 * over it. When `check` returns false it is called again later, with `settled` true.
 */
export class FileWatch {
  readonly #path: string
  readonly #check: (settled: boolean) => Promise<boolean>
  readonly #watchers: FSWatcher[] = []
  readonly #poll: ReturnType<typeof setInterval>
  #timer: ReturnType<typeof setTimeout> | undefined
  #seen: string
  #disposed = false

  constructor(path: string, check: (settled: boolean) => Promise<boolean>) {
    this.#path = path
    this.#check = check
    this.#seen = stamp(path)
    for (const folder of foldersOf(path)) this.#watchFolder(folder.folder, folder.names)
    this.#poll = setInterval(() => {
      if (stamp(this.#path) !== this.#seen) this.#schedule(false, DEBOUNCE_MS)
    }, POLL_MS)
    this.#poll.unref()
    // Catches changes between the first read and this watch.
    this.#schedule(false, 0)
  }

  dispose(): void {
    this.#disposed = true
    clearInterval(this.#poll)
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers) watcher.close()
  }

  #watchFolder(folder: string, names: ReadonlySet<string>): void {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      // `..data` is the link that Kubernetes replaces when a mounted ConfigMap changes.
      if (name === null || names.has(name) || name.startsWith('..')) this.#schedule(false, DEBOUNCE_MS)
    })
    watcher.on('error', () => watcher.close())
    this.#watchers.push(watcher)
  }

  #schedule(settled: boolean, delayMs: number): void {
    if (this.#disposed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#seen = stamp(this.#path)
      void this.#check(settled).then(
        done => {
          if (!done) this.#schedule(true, SETTLE_MS)
        },
        () => this.#schedule(true, POLL_MS),
      )
    }, delayMs)
    this.#timer.unref()
  }
}

/** The folder of the path, and that of its target when the path is a link. */
function foldersOf(path: string): { readonly folder: string; readonly names: ReadonlySet<string> }[] {
  const real = realpathSync(path)
  const own = { folder: dirname(path), names: new Set([basename(path)]) }
  return real === path ? [own] : [own, { folder: dirname(real), names: new Set([basename(real)]) }]
}

function stamp(path: string): string {
  let stats: Stats
  try {
    stats = statSync(path)
  } catch {
    return 'missing'
  }
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeMs}`
}
