import { fieldTexts, tagsField } from 'patchbay/plugin-kit'
import { z } from 'zod'

const MOST_RULES = 50

const glob = z.string().min(1).max(128)
const globs = z.array(glob).min(1).max(50)
const scalar = z.union([z.string().max(1_024), z.number(), z.boolean(), z.null()])
const duration = z.string().regex(/^[1-9]\d{0,4}[smh]$/)

const condition = z
  .strictObject({
    eq: scalar
      .optional()
      .meta(fieldTexts('Equals', 'A text, number, true, false or null.', '等于', '文本、数字、true、false 或 null。')),
    in: z
      .array(scalar)
      .min(1)
      .max(50)
      .optional()
      .meta(fieldTexts('One of', 'Equal to one of these values.', '属于', '等于其中一个值。')),
    gt: z
      .number()
      .optional()
      .meta(fieldTexts('More than', 'A number above this one.', '大于', '大于此数。')),
    gte: z
      .number()
      .optional()
      .meta(fieldTexts('At least', 'This number, or one above it.', '不小于', '此数或更大的数。')),
    lt: z
      .number()
      .optional()
      .meta(fieldTexts('Less than', 'A number below this one.', '小于', '小于此数。')),
    lte: z
      .number()
      .optional()
      .meta(fieldTexts('At most', 'This number, or one below it.', '不大于', '此数或更小的数。')),
    contains: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .meta(fieldTexts('Contains', 'A text that contains this one.', '包含', '包含此文本。')),
    prefix: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .meta(fieldTexts('Begins with', 'A text that begins with this one.', '开头为', '以此文本开头。')),
    exists: z
      .boolean()
      .optional()
      .meta(fieldTexts('Exists', 'Whether the argument is given at all.', '存在', '是否提供了该参数。')),
  })
  .meta({ description: 'All of its members must hold. A value that is missing fits `exists: false` alone.' })

const when = z.strictObject({
  tools: globs
    .optional()
    .meta(
      fieldTexts(
        'Tools',
        'Names of tools as their server has them; `*` is any text.',
        '工具',
        '服务器中的工具名；`*` 代表任意文本。',
      ),
    ),
  tags: tagsField
    .optional()
    .meta(
      fieldTexts(
        'Tags',
        'The rule applies where the server or the group has one of these tags. Not for rules that allow calls.',
        '标签',
        '服务器或分组具有其中之一的标签。不可用于允许调用的规则。',
      ),
    ),
  readOnly: z
    .boolean()
    .optional()
    .meta(
      fieldTexts('Read-only', 'Whether the tool says that it changes nothing.', '只读', '工具是否声明不作任何更改。'),
    ),
  destructive: z
    .boolean()
    .optional()
    .meta(
      fieldTexts(
        'Destructive',
        'Whether the tool may delete or overwrite; it may unless it says otherwise.',
        '破坏性',
        '工具是否可能删除或覆盖；未声明时视为可能。',
      ),
    ),
  idempotent: z
    .boolean()
    .optional()
    .meta(
      fieldTexts(
        'Idempotent',
        'Whether the tool says that a repeated call changes nothing more.',
        '幂等',
        '工具是否声明重复调用不会再有更改。',
      ),
    ),
  openWorld: z
    .boolean()
    .optional()
    .meta(
      fieldTexts(
        'Open world',
        'Whether the tool reaches others than its server; it does unless it says otherwise.',
        '开放世界',
        '工具是否会接触其服务器以外的对象；未声明时视为会。',
      ),
    ),
  arguments: z
    .record(z.string().regex(/^(?:\/.{0,255})?$/), condition)
    .refine(given => Object.keys(given).length <= 20)
    .optional()
    .meta(
      fieldTexts(
        'Arguments',
        'Conditions by JSON Pointer, such as `/amount`.',
        '参数',
        '按 JSON Pointer 给出的条件，例如 `/amount`。',
      ),
    ),
  callers: globs
    .optional()
    .meta(fieldTexts('Callers', 'Names of users; `*` is any text.', '调用者', '用户名；`*` 代表任意文本。')),
  clients: globs
    .optional()
    .meta(
      fieldTexts(
        'Clients',
        'Names that clients give themselves; `*` is any text.',
        '客户端',
        '客户端自报的名称；`*` 代表任意文本。',
      ),
    ),
})

const ruleFields = z.strictObject({
  when: when
    .default({})
    .meta(
      fieldTexts(
        'When',
        'All of its members must hold; without any the rule fits every call.',
        '条件',
        '须全部满足；为空时规则适用于所有调用。',
      ),
    ),
  // biome-ignore lint/suspicious/noThenProperty: the word of rules
  then: z
    .enum(['allow', 'ask', 'deny'])
    .meta(fieldTexts('Then', 'Allow the call, ask a person, or deny it.', '处理', '允许调用、询问人员或拒绝。')),
  who: z
    .union([z.enum(['caller', 'owner']), z.string().regex(/^team:[^\0]{1,64}$/)])
    .optional()
    .meta(
      fieldTexts(
        'Who decides',
        '`owner` of the server or group (the default), `caller`, or `team:` and the name of a team.',
        '由谁决定',
        '服务器或分组的所有者 `owner`（默认）、调用者 `caller`，或 `team:` 加团队名称。',
      ),
    ),
  by: z
    .array(z.enum(['elicitation', 'console', 'chat']))
    .min(1)
    .max(3)
    .optional()
    .meta(
      fieldTexts(
        'Ways to decide',
        'By default the console. `chat` adds a message with a link to it, by the channels of those who decide. An agent may answer an elicitation by itself.',
        '决定方式',
        '默认使用控制台。`chat` 另外通过决定者的通知渠道发送带链接的消息。智能体可能自行回答征询。',
      ),
    ),
  timeout: duration
    .optional()
    .meta(
      fieldTexts(
        'Time for a decision',
        '1 s to 24 h, such as `10m`. After it the answer is no.',
        '决定时限',
        '1 秒至 24 小时，例如 `10m`；逾期视为拒绝。',
      ),
    ),
  remember: duration
    .optional()
    .meta(
      fieldTexts(
        'Remember',
        'Longest time for which the one who decides may allow the same call without another question.',
        '记住',
        '决定者可允许相同调用不再询问的最长时间。',
      ),
    ),
})

/** Owners of servers choose their tags, so that a rule which allows calls by them would let an owner pass rules of others. */
const rule = ruleFields.refine(given => given.then !== 'allow' || given.when.tags === undefined, {
  path: ['when', 'tags'],
  message: 'must not be in a rule that allows calls: owners choose the tags of their servers',
})

/** The rules of one place. */
export const policySchema = z.strictObject({
  rules: z
    .array(rule)
    .max(MOST_RULES)
    .meta(fieldTexts('Rules', 'The first one that fits a call holds.', '规则', '第一条符合的规则生效。')),
  trustAnnotations: z
    .boolean()
    .optional()
    .meta({
      title: 'Trust annotations',
      description: 'Rules that allow calls may rely on what servers say of their tools.',
      'x-zh': { title: '信任注解', description: '允许调用的规则可以依据服务器对其工具的说明。' },
    }),
})

/** The rules of one place, as they are written. */
export type Policy = Readonly<z.infer<typeof policySchema>>
/** One rule. */
export type Rule = Policy['rules'][number]
