import type { Authenticator, CredentialSource } from '../../auth/api.ts'
import { type ErrorCode, HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import type { Socket, SocketHandler } from '../../request/request-info.ts'
import type { LiveFeed, LiveSink } from './live.ts'
import type { Topic } from './live-events.ts'

/** Longest time for which a socket may stay unauthenticated, in milliseconds. */
const FIRST_MESSAGE_MS = 5_000
const BAD_MESSAGES = 3

/** Options of one live WebSocket. `since`: the id of the last event that the client has received. */
export interface LiveSocketOptions {
  readonly feed: LiveFeed
  readonly authenticator: Pick<Authenticator, 'authenticateToken'>
  /** The actor from the headers; absent: the first message must be `{type: "auth", token}`. */
  readonly actor: UserActor | undefined
  readonly source: CredentialSource
  readonly topics: ReadonlySet<Topic>
  readonly since: string | undefined
  readonly firstMessageMs?: number
}

/** The feed over one WebSocket. Sends `{type: "ready"}` after authentication, and nothing before. */
export function liveSocket(options: LiveSocketOptions): SocketHandler {
  const { feed, authenticator, source, topics, since } = options
  let state: 'waiting' | 'known' | 'closed' = 'waiting'
  let timer: ReturnType<typeof setTimeout> | undefined
  let membership: { leave(): void; drained(): void } | undefined
  let bad = 0

  const end = (socket: Socket, code: ErrorCode, status = closeStatus(code)): void => {
    if (state === 'closed') return
    state = 'closed'
    clearTimeout(timer)
    membership?.leave()
    socket.close(status, JSON.stringify({ code }))
  }

  const join = async (socket: Socket, whoIs: () => UserActor | Promise<UserActor>): Promise<void> => {
    state = 'known'
    try {
      const actor = await whoIs()
      clearTimeout(timer)
      const joined = await feed.join(actor, topics, since, sink(socket))
      // The socket may have been closed meanwhile.
      if (isClosed()) joined.leave()
      else membership = joined
    } catch (error) {
      end(socket, error instanceof HubError ? error.code : 'internal')
    }
  }

  const isClosed = (): boolean => state === 'closed'

  const sink = (socket: Socket): LiveSink => ({
    get waitingBytes() {
      return isClosed() ? 0 : socket.waitingBytes
    },
    joined() {
      if (!isClosed()) socket.send('{"type":"ready"}')
    },
    event: ({ text }) => socket.send(text),
    lost: count => socket.send(JSON.stringify({ event: 'stream.lost', data: { lost: count } })),
    ping: () => socket.ping(),
    end: code => end(socket, code),
  })

  const refuse = (socket: Socket, message: string): void => {
    bad += 1
    if (bad >= BAD_MESSAGES) return end(socket, 'request_invalid')
    socket.send(JSON.stringify({ type: 'error', code: 'request_invalid', message }))
  }

  return {
    open(socket) {
      const { actor } = options
      if (actor) return void join(socket, () => actor)
      timer = setTimeout(() => end(socket, 'unauthenticated'), options.firstMessageMs ?? FIRST_MESSAGE_MS)
    },
    message(socket, text) {
      if (state === 'closed') return
      const message = parse(text)
      if (!message) return refuse(socket, 'A message is one JSON object')
      if (state === 'waiting' && message.type === 'auth' && typeof message.token === 'string') {
        const { token } = message
        return void join(socket, () => authenticator.authenticateToken(token, 'api', 'GET', source))
      }
      if (message.type === 'ping') return void socket.send('{"type":"pong"}')
      refuse(socket, state === 'waiting' ? 'The first message is {"type": "auth", "token": …}' : 'Unknown message')
    },
    drain: () => membership?.drained(),
    close() {
      state = 'closed'
      clearTimeout(timer)
      membership?.leave()
    },
  }
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function closeStatus(code: ErrorCode): number {
  if (code === 'draining') return 1001
  if (code === 'overloaded' || code === 'quota_streams') return 1013
  return code === 'internal' ? 1011 : 1008
}
