import { z } from 'zod'

const id = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/)
const domain = z.string().regex(/^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/)

const provider = z.strictObject({
  id: id.meta({ title: 'Id', description: 'Part of addresses; people who have linked an account keep it.' }),
  kind: z.enum(['oidc', 'github']),
  label: z.string().trim().min(1).max(64).meta({ title: 'Label', description: 'The name on the button.' }),
  issuer: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional()
    .meta({
      title: 'Issuer',
      description: 'The issuer of OpenID Connect, exactly as its metadata says; for GitHub the address of an own one.',
    }),
  clientId: z.string().min(1).max(512).meta({ title: 'Client id' }),
  clientSecret: z.string().min(1).max(2_048).optional().meta({ title: 'Client secret', writeOnly: true }),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/))
    .max(20)
    .optional()
    .meta({ title: 'Scopes', description: 'Default: openid, profile and email; for GitHub read:user and user:email.' }),
  claims: z
    .strictObject({ name: z.string().min(1).max(128).optional() })
    .optional()
    .meta({ title: 'Claims', description: 'name: the claim from which the name of a new user is made.' }),
  domains: z
    .array(domain)
    .max(100)
    .optional()
    .meta({ title: 'Domains', description: 'Only people with a verified e-mail address at one of these domains.' }),
  provision: z.enum(['off', 'link', 'create']).default('off').meta({
    title: 'Accounts',
    description: 'off: accounts that are linked. link: users link their account. create: also makes new users.',
  }),
})

/** A provider of sign-ins, as configured. */
export type ProviderConfig = z.infer<typeof provider>

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
