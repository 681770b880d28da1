import { fieldTexts } from 'patchbay/plugin-kit'
import { z } from 'zod'

/** Signatures with a key pair. Algorithms with a shared secret would let everybody sign who knows the public key. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/
const claim = z.string().min(1).max(128)

/** True for an address at which keys may be read: https, or http on this machine. */
export function isSafeAddress(address: unknown): address is string {
  const url = typeof address === 'string' ? URL.parse(address) : null
  if (url?.username !== '' || url.password !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname))
}

/** True for an address of this machine. */
export function isOwnMachine(address: string): boolean {
  return LOOPBACK.test(new URL(address).hostname)
}

/** An issuer whose tokens the hub takes. */
export const externalIssuer = z.strictObject({
  issuer: z
    .string()
    .max(2_048)
    .refine(isSafeAddress, 'must be an https address without user info and fragment, or one of this machine')
    .meta(
      fieldTexts(
        'Issuer',
        'Exactly as its metadata and the claim "iss" of its tokens say.',
        '颁发者',
        '须与其元数据以及令牌的 iss 声明完全一致。',
      ),
    ),
  audience: z
    .string()
    .min(1)
    .max(2_048)
    .optional()
    .meta(
      fieldTexts(
        'Audience',
        'The claim "aud" of tokens for this hub. Default: the address of the hub, or of a path below /mcp.',
        '受众',
        '发给本 Hub 的令牌的 aud 声明；默认为 Hub 的地址，或 /mcp 下某个路径的地址。',
      ),
    ),
  algorithms: z
    .array(z.enum(ALGORITHMS))
    .min(1)
    .max(ALGORITHMS.length)
    .default(['RS256', 'PS256', 'ES256', 'EdDSA'])
    .meta(fieldTexts('Algorithms', 'Signatures that the hub takes.', '算法', 'Hub 接受的签名算法。')),
  claims: z
    .strictObject({
      user: claim
        .default('sub')
        .meta(fieldTexts('User', 'The claim with the lasting id of the user.', '用户', '含有用户固定 ID 的声明。')),
      scope: claim
        .default('scope')
        .meta(fieldTexts('Scope', 'The claim with the rights of the client.', '权限', '含有客户端权限的声明。')),
      teams: z
        .string()
        .min(1)
        .max(256)
        .optional()
        .meta(
          fieldTexts(
            'Teams',
            'The claim with the groups of the user, or a JSON Pointer such as /realm_access/roles. It sets the teams of this issuer.',
            '团队',
            '含有用户所属组的声明，或 JSON Pointer，例如 /realm_access/roles；用于设置来自此颁发者的团队。',
          ),
        ),
    })
    .default({ user: 'sub', scope: 'scope' })
    .meta(fieldTexts('Claims', 'Claims that are read.', '声明', '要读取的声明。')),
  provision: z
    .enum(['link', 'create'])
    .default('link')
    .meta(
      fieldTexts(
        'Users',
        'link: people who have linked their account in the console. create: also makes new users.',
        '用户',
        'link：仅限已在控制台关联账号的用户；create：还会创建新用户。',
      ),
    ),
})

/** An issuer whose tokens the hub takes, as configured. */
export type ExternalIssuer = z.infer<typeof externalIssuer>
