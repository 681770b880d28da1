import { z } from 'zod'
import { externalIssuer } from './external/config.ts'

const host = z.string().regex(/^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/)
const scheme = z
  .string()
  .regex(/^(?!(?:https?|javascript|data|file|blob|about|vbscript|ftp|wss?)$)[a-z][a-z0-9+.-]{1,63}$/)

/** Settings of the plugin. */
export const config = z.strictObject({
  registration: z
    .enum(['known', 'any', 'off'])
    .default('known')
    .meta({
      title: 'Registration by clients',
      description:
        'known: clients whose answers go to this device or to a known host. any: also to any https address. off: none.',
      'x-zh': {
        title: '客户端自助注册',
        description: 'known：回调地址在本机或已知主机上的客户端；any：任意 https 地址；off：关闭。',
      },
    }),
  registrationHosts: z
    .array(host)
    .max(100)
    .default([
      ...['claude.ai', 'claude.com', 'chatgpt.com', 'cursor.com', 'www.cursor.com'],
      ...['vscode.dev', 'insiders.vscode.dev'],
    ])
    .meta({
      title: 'Known hosts',
      description: 'Hosts to which the answers of registered clients may go.',
      'x-zh': { title: '已知主机', description: '自助注册的客户端可以使用的回调主机。' },
    }),
  redirectSchemes: z
    .array(scheme)
    .max(100)
    .default(['cursor', 'vscode', 'vscode-insiders', 'windsurf'])
    .meta({
      title: 'Schemes of programs',
      description: 'Schemes of addresses that open a program on the device, such as cursor.',
      'x-zh': { title: '程序协议', description: '可打开本机程序的地址协议，例如 cursor。' },
    }),
  clientHosts: z
    .array(host)
    .max(100)
    .optional()
    .meta({
      title: 'Hosts of client documents',
      description: 'Only clients whose id is an address at one of these hosts. Without it any host.',
      'x-zh': { title: '客户端文档主机', description: '只接受 ID 位于这些主机的客户端；留空则不限。' },
    }),
  issuers: z
    .array(externalIssuer)
    .max(10)
    .refine(all => new Set(all.map(({ issuer }) => issuer)).size === all.length, 'has an issuer twice')
    .default([])
    .meta({
      title: 'External issuers',
      description: 'Issuers whose tokens open the hub, in place of the hub’s own sign-in for clients.',
      'x-zh': { title: '外部颁发者', description: '其令牌可访问 Hub 的颁发者；设置后将取代 Hub 自身的客户端登录。' },
    }),
})

/** The settings, read. */
export type OAuthServerConfig = z.infer<typeof config>
