import type { StreamPosition } from 'patchbay/transport-kit'

/** One message on its way: a request until it is answered, anything else until the server has taken it. */
export class Post {
  readonly key: number
  /** Of a request; absent for a notification or an answer. */
  readonly id: number | undefined
  readonly abort = new AbortController()
  /** Called when it is over; true: the server took it. */
  readonly done: ((accepted: boolean) => void) | undefined
  position: StreamPosition | undefined
  answered = false
  /** Nothing more is told about it. */
  over = false
  /** An HTTP exchange may still be under way for it. */
  open = true
  failures = 0
  timer: ReturnType<typeof setTimeout> | undefined

  constructor(key: number, id: number | undefined, done: Post['done']) {
    this.key = key
    this.id = id
    this.done = done
  }
}
