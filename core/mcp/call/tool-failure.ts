import { type ErrorCode, HubError } from '../../contract/errors.ts'
import { meantHint, suggestNames } from '../../domain/nearest.ts'
import type { ServerFace } from '../../domain/session-scope.ts'
import type { Refusals } from '../rpc/refusals.ts'
import { EVERY_CAPABILITY, needsAsking } from './asked-clients.ts'
import type { Exchange, Outcome } from './exchange.ts'
import type { Routed } from './forwarder.ts'

/** Failures that are failed tools at MCP servers too: the server answered, but with another address. */
const OF_ALL_SERVERS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['redirect_blocked'])

/** Advice to the model for each failure of an HTTP API call; a failure that is not listed stays a protocol error. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  params_invalid: 'Correct these arguments and call the tool again.',
  upstream_timeout: 'The API may have acted on the request all the same; ask it for less, or try again later.',
  connection_lost: 'What was under way at the API may have happened; check before you repeat what changes something.',
  server_offline: 'Nothing was sent. Try again later, or go on without this tool.',
  upstream_dns_error: 'Nothing was sent. Go on without this tool; its address must be corrected.',
  upstream_tls_error: 'Nothing was sent. Go on without this tool; its certificate must be corrected.',
  proxy_failed: 'Nothing was sent. Go on without this tool; the proxy on the way must be corrected.',
  redirect_blocked:
    'The other address got nothing. Go on without this tool; the address of the server must be corrected.',
  upstream_http_error: 'Try again later, or go on without this tool.',
  upstream_protocol: 'The answer of the API cannot be read. Go on without this tool.',
  authorization_required: 'The API did not accept the credentials of the server. Go on without this tool.',
}

/** Advice where the message has the link of a page at which the person ends the failure. */
const AT_PAGE = 'Ask the person to open this link, and call the tool again once they are done there.'

/**
 * A failed call of an HTTP API's tool as a result with `isError`, which clients show to the model; a JSON-RPC error
 * often ends its turn. So is the call of an MCP server that answers with a redirect that is not followed. Other outcomes, and failures for callers that want errors, are returned unchanged.
 */
export function failureForModel(
  { plainFailures }: Pick<Exchange, 'plainFailures'>,
  face: () => Pick<ServerFace, 'kind'>,
  outcome: Outcome,
): Outcome {
  if (outcome.kind !== 'failed' || plainFailures) return outcome
  if (!OF_ALL_SERVERS.has(outcome.error.code) && face().kind !== 'answers') return outcome
  const { code, message, retryAfterSeconds, data } = outcome.error satisfies HubError
  const advice = data?.connectUrl === undefined ? ADVICE[code] : AT_PAGE
  if (advice === undefined) return outcome
  const wait = retryAfterSeconds === undefined ? '' : ` Wait at least ${Math.ceil(retryAfterSeconds)} s.`
  const text = `${code}: ${message}. ${advice}${wait}`
  return { kind: 'result', resultText: JSON.stringify({ content: [{ type: 'text', text }], isError: true }) }
}

/** The error for a tool whose changed definition has not been approved. */
export function approvalRequired(name: string): HubError {
  return new HubError('approval_required', `The tool "${name}" changed, and waits for the approval of its owner`)
}

/** The error for a name that the scope does not have, with those that may have been meant. */
export function unknownName(
  refusals: Refusals,
  { exchange, scope }: Routed,
  kind: 'tool' | 'prompt',
  name: string,
): HubError {
  const { tools, prompts } = scope.catalogFor(exchange.capabilities)
  const known = kind === 'tool' ? [...tools].filter(([, { item }]) => !item?.onlyFor) : prompts
  if (kind === 'tool' && scope.catalogFor(EVERY_CAPABILITY).tools.has(name)) return needsAsking(name)
  const near = refusals.exhausted(exchange.actor.userId)
    ? []
    : suggestNames(
        name,
        Array.from(known, ([one]) => one),
      )
  return new HubError(`${kind}_not_found`, `There is no ${kind} "${name.slice(0, 64)}" here`, meantHint(near))
}
