import type { StreamPosition } from 'patchbay/transport-kit'

/** One message in flight: a request until its response, any other message until the server has accepted it. */
export class Post {
  readonly key: number
  /** Set for a request; absent for a notification or a response. */
  readonly id: number | undefined
  readonly abort = new AbortController()
  /** Called at the end; true: the server accepted it. */
  readonly done: ((accepted: boolean) => void) | undefined
  position: StreamPosition | undefined
  answered = false
  /** The result was reported; nothing more follows. */
  over = false
  /** True while an HTTP exchange may be open for it. */
  open = true
  failures = 0
  timer: ReturnType<typeof setTimeout> | undefined

  constructor(key: number, id: number | undefined, done: Post['done']) {
    this.key = key
    this.id = id
    this.done = done
  }
}
