import pg from 'pg'

/** pg's message for a statement that got no response within `query_timeout`. */
const UNANSWERED = 'Query read timeout'

/**
 * A connection that is closed after a statement on it timed out. pg alone would return it to the pool, and the next caller's
 * statements would queue behind the unanswered one: forever, when the network path is lost. The server rolls back open
 * transactions of a closed connection.
 */
export class CutOffClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    // While the pool has lent it there is no listener, and an unhandled error event would end the process. The
    // statement fails anyway.
    this.on('error', () => undefined)
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg declares ten forms of this method
  override query(...given: any[]): any {
    const outcome: unknown = Reflect.apply(super.query, this, given)
    if (outcome instanceof Promise)
      outcome.catch((error: unknown) => {
        if (error instanceof Error && error.message === UNANSWERED) this.cut(error)
      })
    return outcome
  }

  /** Closes the connection without a word to the server. */
  cut(error?: Error): void {
    const { connection } = this as unknown as {
      readonly connection: { readonly stream: { destroy(why?: Error): void } }
    }
    connection.stream.destroy(error)
  }
}
