import pg from 'pg'

/** What pg says of a statement that was not answered in `query_timeout`. */
const UNANSWERED = 'Query read timeout'

/**
 * A connection that is closed once a statement on it was not answered in time. By itself pg keeps it and gives it to the next
 * caller, whose statements wait behind the one that nobody answers: for ever, where the way to the server is lost. The server
 * undoes what was begun on a connection that is closed.
 */
export class CutOffClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    // While it is lent nobody listens, and an error that nobody hears ends the process. The statement on it fails as well.
    this.on('error', () => undefined)
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg declares ten forms of this method
  override query(...given: any[]): any {
    const outcome: unknown = Reflect.apply(super.query, this, given)
    if (outcome instanceof Promise)
      outcome.catch((error: unknown) => {
        if (error instanceof Error && error.message === UNANSWERED) this.#cut(error)
      })
    return outcome
  }

  #cut(error: Error): void {
    const { connection } = this as unknown as {
      readonly connection: { readonly stream: { destroy(why: Error): void } }
    }
    connection.stream.destroy(error)
  }
}
