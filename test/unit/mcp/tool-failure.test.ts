import { expect, test } from 'bun:test'
import { type ErrorCode, HubError } from '../../../core/contract/errors.ts'
import { failureForModel } from '../../../core/mcp/call/tool-failure.ts'

const CODES: readonly ErrorCode[] = ['redirect_blocked', 'upstream_timeout', 'server_offline', 'connection_lost']

test.each(CODES)('%s of an HTTP API is a failed tool in words, and an error for callers that want errors', code => {
  const failed = { kind: 'failed', error: new HubError(code, 'The server redirects to another origin') } as const
  const outcome = failureForModel({}, () => ({ kind: 'answers' }), failed)
  if (outcome.kind !== 'result') throw new Error(outcome.kind)
  const result = JSON.parse(String(outcome.resultText))
  expect(result.isError).toBe(true)
  expect(result.content[0].text).toStartWith(`${code}: The server redirects to another origin. `)
  expect(failureForModel({ plainFailures: true }, () => ({ kind: 'answers' }), failed)).toBe(failed)
})

test('a failure that a person ends at a page sends the model to the person, not on without the tool', () => {
  const data = { connectUrl: 'https://hub.example.org/connect/1' }
  const error = new HubError('authorization_required', `Sign in: open ${data.connectUrl}`, { data })
  const outcome = failureForModel({}, () => ({ kind: 'answers' }), { kind: 'failed', error })
  if (outcome.kind !== 'result') throw new Error(outcome.kind)
  const [{ text }] = JSON.parse(String(outcome.resultText)).content
  expect(text).toContain('Ask the person to open this link')
  expect(text).not.toContain('without this tool')
})
