import { fieldTexts, tagsField } from 'patchbay/plugin-kit'
import { z } from 'zod'
import type { CheckedRule } from './check/compile.ts'
import { asciiHost } from './find/domains.ts'
import { isEmptyPattern, MOST_PATTERNS, PATTERN_CHARACTERS } from './find/patterns.ts'
import { PERSONAL_KINDS } from './find/personal.ts'
import { SECRET_KINDS } from './find/secrets.ts'

/** Most rules of the hub, of a server, or of a group. */
export const MOST_RULES = 50
const kinds = (all: readonly string[]) =>
  z.union([
    z.literal(true),
    z
      .array(z.enum(all as [string, ...string[]]))
      .min(1)
      .max(all.length),
  ])
const pattern = z
  .string()
  .min(1)
  .max(PATTERN_CHARACTERS)
  .refine(text => !isEmptyPattern(text), 'A pattern has at least one character besides *')
const domain = z
  .string()
  .min(1)
  .max(253)
  .refine(
    text => text === '*' || asciiHost(text.replace(/^\*\./, '')) !== undefined,
    'A host such as example.com or *.example.com',
  )

const match = z
  .strictObject({
    secrets: kinds(SECRET_KINDS)
      .optional()
      .meta(
        fieldTexts(
          'Secrets',
          'Keys and tokens of well-known forms; true: all of them.',
          '密钥',
          '常见格式的密钥与令牌；true 表示全部。',
        ),
      ),
    personal: kinds(PERSONAL_KINDS)
      .optional()
      .meta(
        fieldTexts(
          'Personal data',
          'E-mail addresses, phone numbers, and numbers with check digits; true: all kinds.',
          '个人数据',
          '电子邮件、电话以及带校验位的号码；true 表示全部。',
        ),
      ),
    pattern: z
      .union([pattern, z.array(pattern).min(1).max(MOST_PATTERNS)])
      .optional()
      .meta(
        fieldTexts(
          'Patterns',
          'Texts in any case: `*` any characters of a line, `?` one, `#` a digit, `\\` takes a meaning away.',
          '模式',
          '不分大小写：`*` 代表一行内任意字符，`?` 一个字符，`#` 一个数字，`\\` 取消其特殊含义。',
        ),
      ),
    domains: z
      .array(domain)
      .min(1)
      .max(200)
      .optional()
      .meta(fieldTexts('Allowed domains', 'Finds addresses of all other hosts.', '允许的域名', '查找其他主机的地址。')),
  })
  .refine(given => Object.values(given).some(value => value !== undefined), 'Name what is looked for')

/** `whsec_` and base64 of 24 to 64 bytes, as Standard Webhooks has it. */
const SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/

const webhook = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .meta(fieldTexts('Address', 'Gets the content by POST.', '地址', '以 POST 接收内容。')),
  secret: z
    .string()
    .max(200)
    .meta({
      writeOnly: true,
      ...fieldTexts(
        'Signing secret',
        '`whsec_` and base64 of 24 to 64 bytes; signs each request.',
        '签名密钥',
        '`whsec_` 加 24 至 64 字节的 base64；用于为每个请求签名。',
      ),
    }),
  timeoutMs: z
    .number()
    .int()
    .min(50)
    .max(5_000)
    .default(2_000)
    .meta(fieldTexts('Time limit', 'Milliseconds for an answer.', '时限', '等待回应的毫秒数。')),
  onFailure: z
    .enum(['open', 'closed'])
    .default('closed')
    .meta(
      fieldTexts(
        'Without an answer',
        '`closed` refuses the call, `open` lets it pass.',
        '无回应时',
        '`closed` 拒绝调用，`open` 放行。',
      ),
    ),
})

/** One rule, as it is written. */
export const rule = z
  .strictObject({
    id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,39}$/)
      .meta(
        fieldTexts(
          'Name',
          'Lower-case letters, digits and dashes. Callers who are refused see it.',
          '名称',
          '小写字母、数字与连字符。被拒绝的调用者会看到它。',
        ),
      ),
    on: z
      .enum(['arguments', 'result', 'both'])
      .default('both')
      .meta(fieldTexts('Where', 'In arguments, in results, or in both.', '位置', '参数、结果或两者。')),
    match: match.optional().meta(fieldTexts('Find', 'The content that the rule is about.', '查找', '规则针对的内容。')),
    webhook: webhook
      .optional()
      .meta(
        fieldTexts(
          'Webhook',
          'In place of `match`: an address that looks at the content.',
          'Webhook',
          '代替 `match`：由此地址检查内容。',
        ),
      ),
    then: z
      .enum(['observe', 'mask', 'refuse'])
      .default('observe')
      .meta(fieldTexts('Then', 'Count the finding, mask it, or refuse the call.', '处理', '计数、遮盖或拒绝调用。')),
    tools: z
      .array(z.string().min(1).max(128))
      .min(1)
      .max(50)
      .optional()
      .meta(fieldTexts('Tools', 'Names of tools, with `*`; all by default.', '工具', '工具名，可含 `*`；默认全部。')),
    tags: tagsField
      .optional()
      .meta(
        fieldTexts(
          'Tags',
          'The rule applies where the server or the group has one of these tags. Default: everywhere.',
          '标签',
          '服务器或分组具有其中之一的标签；默认不限。',
        ),
      ),
  })
  .refine(
    given => (given.match === undefined) !== (given.webhook === undefined),
    'Either "match" or "webhook" is wanted',
  )

export type Rule = z.infer<typeof rule>

/** The rules of one place. */
export const rules = z
  .array(rule)
  .max(MOST_RULES)
  .refine(list => new Set(list.map(({ id }) => id)).size === list.length, 'Two rules have the same id')

/** True for a secret that signs. */
export function isSigningSecret(secret: string): boolean {
  return SECRET.test(secret)
}

/** A rule in the form that crosses to a thread; undefined for one with a webhook. */
export function checkedRule(place: string, { id, match: given, then: action }: Rule): CheckedRule | undefined {
  if (!given) return undefined
  const { pattern: patterns, ...rest } = given
  const list = patterns === undefined ? {} : { pattern: typeof patterns === 'string' ? [patterns] : patterns }
  return { place, id, match: { ...rest, ...list }, then: action }
}
