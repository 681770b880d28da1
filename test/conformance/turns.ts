/** Turns for programs that the suite starts all at once, each of which runs a hub. */
const AT_ONCE = 3

/** Lets a few programs run at a time. */
export class Turns {
  readonly url: string
  readonly #server: ReturnType<typeof Bun.serve>
  readonly #waiting: (() => void)[] = []
  #free = AT_ONCE

  constructor() {
    this.#server = Bun.serve({
      ...{ port: 0, hostname: '127.0.0.1' },
      fetch: (request, server) => {
        server.timeout(request, 0)
        return new Response(this.#turn(request.signal))
      },
    })
    this.url = this.#server.url.href
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }

  /** A stream whose first byte is the turn, which ends with the connection. */
  #turn(signal: AbortSignal): ReadableStream<Uint8Array> {
    return new ReadableStream({
      start: controller => {
        let granted = false
        const grant = () => {
          granted = true
          this.#free -= 1
          controller.enqueue(new Uint8Array([1]))
        }
        signal.addEventListener('abort', () => {
          const at = this.#waiting.indexOf(grant)
          if (at >= 0) this.#waiting.splice(at, 1)
          if (!granted) return
          this.#free += 1
          this.#waiting.shift()?.()
        })
        if (this.#free > 0) grant()
        else this.#waiting.push(grant)
      },
    })
  }
}

/** Waits for a turn; the returned function ends it, as does the end of the process. */
export async function takeTurn(url: string): Promise<() => void> {
  const turn = new AbortController()
  const { body } = await fetch(url, { signal: turn.signal })
  await body?.getReader().read()
  return () => turn.abort()
}
