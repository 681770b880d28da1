/**
 * Sends a request again and again, as fast as the earlier ones are answered: `repeat-requests.ts <url> <number at a time>
 * <seconds>`, with the request as JSON on standard input. Prints the number of each answer. An answer that comes before the
 * body was sent ends its connection, and so does a request that is cut off: the next one opens another.
 */
const [url = '', atOnce = '1', duration = '1'] = process.argv.slice(2)
const { path, cutOffMs, ...request } = (await Bun.stdin.json()) as {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** After so long every second request is cut off, answered or not. */
  readonly cutOffMs?: number
}
const endMs = performance.now() + Number(duration) * 1_000
const answers: Record<string, number> = {}

/** The status of the answer, or the name of the error. */
async function answerOf(at: number): Promise<string> {
  const signal = cutOffMs !== undefined && at % 2 === 0 ? { signal: AbortSignal.timeout(cutOffMs) } : {}
  try {
    const answer = await fetch(new URL(path, url), { ...request, keepalive: false, ...signal })
    await answer.arrayBuffer()
    return String(answer.status)
  } catch (error) {
    return error instanceof Error ? error.name : String(error)
  }
}

await Promise.all(
  Array.from({ length: Number(atOnce) }, async (_, start) => {
    for (let at = start; performance.now() < endMs; at += 1) {
      const answer = await answerOf(at)
      answers[answer] = (answers[answer] ?? 0) + 1
    }
  }),
)
process.stdout.write(JSON.stringify(answers))

export {}
