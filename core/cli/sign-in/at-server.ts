import { setTimeout as delay } from 'node:timers/promises'
import type { JsonObject } from '../../contract/json.ts'
import { CommandError } from '../arguments.ts'
import type { HubClient } from '../client.ts'
import type { CommandIo } from '../io.ts'
import { plain } from '../output.ts'

/** Between two looks at the state of the sign-in, in milliseconds. */
const LOOK_MS = 1_000

/**
 * Begins a sign-in at a server, prints the code or the link for the person, and waits for the outcome. Returns the exit code.
 * Throws CommandError for a sign-in that cannot begin, or fails.
 */
export async function signInAtServer(hub: HubClient, name: string, io: CommandIo): Promise<number> {
  const begun = await hub.post(`/api/servers/${encodeURIComponent(name)}/connect`, {}).catch((error: unknown) => {
    if (!(error instanceof CommandError) || !error.message.startsWith('server_not_found')) throw error
    const others = `To add a group to the MCP client "${name}": patchbay connect ${name} --group <group>`
    throw new CommandError(`${error.message}\n${others}`, { cause: error })
  })
  const isCode = typeof begun.userCode === 'string'
  io.stdout(plain(isCode ? codeText(begun) : linkText(begun)))
  const ended = new AbortController()
  const pasted = isCode ? undefined : finishPasted(hub, io, ended.signal)
  const outcome = await outcomeOf(hub, String(begun.flow), pasted)
  ended.abort()
  if (outcome.state !== 'done') {
    const why = typeof outcome.message === 'string' ? `: ${outcome.message}` : ''
    throw new CommandError(`${String(outcome.code)}${why}`)
  }
  io.stdout(plain(`signed in at ${String(outcome.server)}\n`))
  return 0
}

function codeText({
  verificationUri,
  verificationUriComplete: whole,
  userCode,
  expiresAt,
  issuer,
}: JsonObject): string {
  const minutes = Math.max(1, Math.round((Date.parse(String(expiresAt)) - Date.now()) / 60_000))
  const link = typeof whole === 'string' ? `Or open ${whole}\n` : ''
  const isElsewhere = URL.parse(String(verificationUri))?.origin !== URL.parse(String(issuer))?.origin
  const warning = isElsewhere
    ? `That page is not of the issuer ${String(issuer)}: enter the code only if you want to give it your account there.\n`
    : ''
  const lines = `Open ${String(verificationUri)} on any device and enter the code ${String(userCode)}\n${link}`
  return `${lines}${warning}It is valid for ${minutes} minutes. Waiting …\n`
}

function linkText({ authorizeUrl }: JsonObject): string {
  return `Open ${String(authorizeUrl)}\nIf the browser cannot come back to the hub, paste the address at which it ended, and press Ctrl-D. Waiting …\n`
}

/** Finishes a sign-in by the address that the person pastes. Resolves without one. */
async function finishPasted(hub: HubClient, io: CommandIo, signal: AbortSignal): Promise<void> {
  const url = (await io.stdin()).trim()
  if (url !== '' && !signal.aborted) await hub.post('/api/connections/finish', { url })
}

/** The state after it has ended. Rejects as `pasted` does. */
async function outcomeOf(hub: HubClient, flow: string, pasted: Promise<void> | undefined): Promise<JsonObject> {
  let thrown: unknown
  pasted?.catch((error: unknown) => {
    thrown = error
  })
  for (;;) {
    const found = await hub.get(`/api/connections/flows/${encodeURIComponent(flow)}`)
    if (found.state !== 'waiting') return found
    if (thrown !== undefined) throw thrown
    await delay(LOOK_MS)
  }
}
