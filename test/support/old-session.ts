import { createTokens } from '../../core/auth/tokens.ts'
import { readHubKeys } from '../../core/secrets/key-file.ts'
import { Client, type Hub } from './hub.ts'

const ELEVEN_MINUTES_MS = 11 * 60_000

/** The same user with a token of a sign-in that began 11 minutes ago, signed as the hub does. */
export async function oldSession({ dataDir }: Pick<Hub, 'dataDir'>, { url, name, token }: Client): Promise<Client> {
  const { jwtSecret, instanceId } = await readHubKeys(dataDir)
  const claims = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString())
  const tokens = createTokens({ secret: jwtSecret, instanceId, now: () => Date.now() - ELEVEN_MINUTES_MS })
  const made = await tokens.issue({ id: claims.sub, role: claims.role, tokenEpoch: claims.epoch })
  return new Client(url, name, made.token)
}
