import { fieldTexts } from 'patchbay/plugin-kit'
import { z } from 'zod'

const id = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/)
const domain = z.string().regex(/^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/)

const provider = z.strictObject({
  id: id.meta(
    fieldTexts('Id', 'Part of addresses; linked accounts keep it.', 'ID', '地址的一部分；已关联的账号会保留它。'),
  ),
  kind: z
    .enum(['oidc', 'github'])
    .meta(fieldTexts('Kind', 'An issuer of OpenID Connect, or GitHub.', '类型', 'OpenID Connect 颁发者或 GitHub。')),
  label: z
    .string()
    .trim()
    .min(1)
    .max(64)
    .meta(fieldTexts('Label', 'The name on the button.', '名称', '按钮上显示的名称。')),
  issuer: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional()
    .meta(
      fieldTexts(
        'Issuer',
        'The issuer of OpenID Connect, exactly as its metadata says; for GitHub the address of an own one.',
        '颁发者',
        'OpenID Connect 颁发者，须与其元数据完全一致；GitHub 则填写自建服务的地址。',
      ),
    ),
  clientId: z
    .string()
    .min(1)
    .max(512)
    .meta(
      fieldTexts(
        'Client id',
        'As the hub is registered at the provider.',
        '客户端 ID',
        'Hub 在提供方注册时得到的 ID。',
      ),
    ),
  clientSecret: z
    .string()
    .min(1)
    .max(2_048)
    .optional()
    .meta({
      ...fieldTexts('Client secret', 'As the provider gave it to the hub.', '客户端密钥', '提供方给 Hub 的密钥。'),
      writeOnly: true,
    }),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/))
    .max(20)
    .optional()
    .meta(
      fieldTexts(
        'Scopes',
        'Default: openid, profile and email; for GitHub read:user and user:email.',
        '权限范围',
        '默认为 openid、profile 和 email；GitHub 为 read:user 和 user:email。',
      ),
    ),
  claims: z
    .strictObject({
      name: z
        .string()
        .min(1)
        .max(128)
        .optional()
        .meta(fieldTexts('Name', 'The claim with the name of a new user.', '用户名', '用作新用户名称的声明。')),
      subject: z
        .string()
        .min(1)
        .max(128)
        .optional()
        .meta(
          fieldTexts(
            'User',
            'The claim with the lasting id of the user, such as oid. Default: sub.',
            '用户 ID',
            '含有用户固定 ID 的声明，例如 oid；默认为 sub。',
          ),
        ),
      groups: z
        .string()
        .min(1)
        .max(256)
        .optional()
        .meta(
          fieldTexts(
            'Groups',
            'The claim with the groups of the user, such as groups, or a JSON Pointer: /realm_access/roles. It sets the teams of this provider.',
            '用户组',
            '含有用户所属组的声明，例如 groups，或 JSON Pointer：/realm_access/roles；用于设置来自此提供方的团队。',
          ),
        ),
    })
    .optional()
    .meta(fieldTexts('Claims', 'Claims that are read.', '声明', '要读取的声明。')),
  domains: z
    .array(domain)
    .max(100)
    .optional()
    .meta(
      fieldTexts(
        'Domains',
        'Only people with a verified e-mail address at one of these domains.',
        '域名',
        '仅限拥有这些域名下已验证邮箱地址的人员。',
      ),
    ),
  provision: z
    .enum(['off', 'link', 'create'])
    .default('off')
    .meta(
      fieldTexts(
        'Accounts',
        'off: accounts that are linked. link: users link their account. create: also makes new users.',
        '账号',
        'off：仅限已关联的账号。link：用户可自行关联账号。create：还会创建新用户。',
      ),
    ),
})

/** A provider of sign-ins, as configured. */
export type ProviderConfig = z.infer<typeof provider>

/** Headers that every client sends, or that proxies change for other reasons. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  ...['authorization', 'cookie', 'host', 'origin', 'referer', 'user-agent', 'accept', 'content-type', 'content-length'],
  ...['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'forwarded', 'connection', 'x-auth-token'],
])

const header = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/)
  .refine(name => !RESERVED_HEADERS.has(name.toLowerCase()), 'is a header of requests themselves')

/** The user that a proxy before the hub has signed in. */
const forwarded = z.strictObject({
  user: header.meta(
    fieldTexts(
      'Header of the user',
      'The header with the name of the user, which a proxy of TRUSTED_PROXIES sets.',
      '用户请求头',
      '由 TRUSTED_PROXIES 中的代理设置、含有用户名的请求头。',
    ),
  ),
  email: header
    .optional()
    .meta(
      fieldTexts(
        'Header of the address',
        'The header with the e-mail address.',
        '邮箱请求头',
        '含有邮箱地址的请求头。',
      ),
    ),
  groups: header
    .optional()
    .meta(
      fieldTexts(
        'Header of the groups',
        'The header with the groups of the user, which sets the teams of the provider "proxy".',
        '用户组请求头',
        '含有用户所属组的请求头，用于设置来自提供方 proxy 的团队。',
      ),
    ),
  separator: z
    .enum([',', ';', '|', ' '])
    .default(',')
    .meta(fieldTexts('Separator', 'Between two groups in the header.', '分隔符', '请求头中两个组之间的分隔符。')),
  provision: z
    .enum(['off', 'create'])
    .default('off')
    .meta(
      fieldTexts(
        'Accounts',
        'off: users that there are. create: also makes new users.',
        '账号',
        'off：仅限已有用户。create：还会创建新用户。',
      ),
    ),
  administrators: z
    .boolean()
    .default(false)
    .meta(
      fieldTexts(
        'Administrators',
        'The proxy signs administrators in too. Default: they sign in at the hub.',
        '管理员',
        '代理也可以登录管理员；默认管理员需在 hub 登录。',
      ),
    ),
})

/** Settings of the plugin. */
export const config = z.strictObject({
  requireSecondFactor: z
    .enum(['off', 'admins', 'all'])
    .default('off')
    .meta({
      title: 'Second factor required',
      description: 'Who must have a second factor. Until it is set, one can do nothing else.',
      'x-zh': {
        title: '必须使用第二验证方式',
        description: '哪些用户必须设置第二验证方式；设置之前无法进行其他操作。',
      },
    }),
  passwords: z
    .enum(['on', 'admins', 'off'])
    .default('on')
    .meta(
      fieldTexts(
        'Passwords',
        'admins: only administrators sign in with a password. off: the sign-in page shows no password either; administrators keep theirs.',
        '密码登录',
        'admins：仅管理员可用密码登录。off：登录页也不再显示密码；管理员仍可使用自己的密码。',
      ),
    ),
  forwarded: forwarded
    .optional()
    .meta(
      fieldTexts(
        'Sign-in by a proxy',
        'A proxy before the hub signs users in and names them in a header. It must remove that header from what clients send.',
        '代理登录',
        'hub 前的代理负责登录用户，并用请求头告知用户名；代理必须删除客户端自行发送的同名请求头。',
      ),
    ),
  providers: z
    .array(provider)
    .max(20)
    .default([])
    .meta({
      title: 'Providers',
      description: 'Issuers of OpenID Connect, or GitHub, with which people sign in.',
      'x-zh': { title: '登录提供方', description: '用户可用来登录的 OpenID Connect 颁发者或 GitHub。' },
    }),
})

/** The settings, read. */
export type SignInConfig = z.infer<typeof config>
