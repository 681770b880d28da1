import { createParser } from 'eventsource-parser'
import { problemOf, type RequestOptions, send } from './client.ts'
import { ApiError } from './problem.ts'

/**
 * Sends a request whose response is a stream of events, such as a tool's progress and its result. Calls `listener` with each
 * event but the last; resolves with the last one. Throws the ApiError of the response, or of an `error` event.
 */
export async function sendForEvents<T>(
  path: string,
  options: RequestOptions,
  listener: (name: string, data: Readonly<Record<string, unknown>>) => void,
): Promise<T> {
  const headers = { ...options.headers, accept: 'text/event-stream' }
  const response = await send('POST', path, { ...options, headers })
  if (!response.ok || !response.body) throw await problemOf(response)
  let last: { readonly name: string; readonly data: Readonly<Record<string, unknown>> } | undefined
  const parser = createParser({
    onEvent: ({ event = 'message', data }) => {
      if (last) listener(last.name, last.data)
      last = undefined
      const body = JSON.parse(data) as Readonly<Record<string, unknown>>
      // Only the events that end a stream are held back until it has ended.
      if (event === 'result' || event === 'report' || event === 'error') last = { name: event, data: body }
      else listener(event, body)
    },
  })
  const decoder = new TextDecoder()
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read()
    if (done) break
    parser.feed(decoder.decode(value, { stream: true }))
  }
  if (!last) throw new ApiError(0, { code: 'hub_unreachable', detail: 'The connection ended before the answer' })
  if (last.name === 'error') throw new ApiError(Number(last.data.status ?? 500), last.data)
  return last.data as T
}
