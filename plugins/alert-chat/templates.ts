import { createHmac } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { discordText, feishuText, markdownText, slackText, tagless, telegramText } from './escape.ts'
import { type ChatText, cutBytes, cutCharacters } from './text.ts'

/** Configuration of a channel. */
export interface ChatConfig {
  readonly webhook: string
  readonly channel?: string
  readonly secret?: string
  readonly template?: string
}

/** Request and response of a service. */
export interface ChatForm {
  readonly host: RegExp
  readonly needsChannel?: true
  /** In UTC milliseconds; some services sign it. */
  request(text: ChatText, config: ChatConfig, nowMs: number): { readonly url: string; readonly body: JsonObject }
  /** Undefined when the message was accepted; otherwise the service's error. */
  problem(status: number, answer: JsonValue | undefined): string | undefined
  /** Time that the service asks to wait, in milliseconds. */
  retryAfterMs?(answer: JsonValue | undefined): number | undefined
}

const COLOURS = { critical: 0xd0_2b_20, warning: 0xe0_a0_00, resolved: 0x2e_a0_43, notice: 0x3b_6f_d6 } as const
/** Slack’s own names of colours. */
const SLACK_COLOURS = { critical: 'danger', warning: 'warning', resolved: 'good', notice: '#3b6fd6' } as const

/** The services by the name of their form. */
export const TEMPLATES: Readonly<Record<string, ChatForm>> = {
  slack: {
    host: /(?:^|\.)slack\.com$/,
    request: (text, { webhook, channel }) => ({ url: webhook, body: slackBody(text, channel) }),
    problem: (status, answer) => (status === 200 ? undefined : `${status} ${said(answer)}`),
  },
  feishu: {
    host: /(?:^|\.)(?:feishu\.cn|larksuite\.com)$/,
    request(message, { webhook, secret }, nowMs) {
      const timestamp = String(Math.floor(nowMs / 1_000))
      // The service signs the empty text with a key made of the secret.
      const sign = secret && createHmac('sha256', `${timestamp}\n${secret}`).update('').digest('base64')
      const text = cutBytes(plainText(message, feishuText), 18_000)
      const body: JsonObject = { msg_type: 'text', content: { text } }
      return { url: webhook, body: sign ? { timestamp, sign, ...body } : body }
    },
    problem: (_status, answer) => codeProblem(answer, 'code'),
  },
  dingtalk: {
    host: /(?:^|\.)dingtalk\.com$/,
    request(message, { webhook, secret }, nowMs) {
      const url = new URL(webhook)
      if (secret) {
        url.searchParams.set('timestamp', String(nowMs))
        url.searchParams.set('sign', createHmac('sha256', secret).update(`${nowMs}\n${secret}`).digest('base64'))
      }
      const markdown = {
        title: cutBytes(tagless(message.title), 200),
        text: cutBytes(markdownBody(message), 18_000),
      }
      return { url: url.href, body: { msgtype: 'markdown', markdown, at: { isAtAll: false } } }
    },
    problem: (_status, answer) => codeProblem(answer, 'errcode'),
  },
  wecom: {
    host: /^qyapi\.weixin\.qq\.com$/,
    request: (message, { webhook }) => ({
      url: webhook,
      body: { msgtype: 'markdown', markdown: { content: cutBytes(markdownBody(message), 4_096) } },
    }),
    problem: (_status, answer) => codeProblem(answer, 'errcode'),
  },
  discord: {
    host: /(?:^|\.)(?:discord|discordapp)\.com$/,
    request: (message, { webhook }) => ({ url: webhook, body: discordBody(message) }),
    problem: (status, answer) => (status === 204 || status === 200 ? undefined : `${status} ${said(answer)}`),
    retryAfterMs: answer => seconds(isJsonObject(answer) ? answer.retry_after : undefined),
  },
  telegram: {
    host: /^api\.telegram\.org$/,
    needsChannel: true,
    request: (message, { webhook, channel = '' }) => ({
      url: webhook,
      body: {
        chat_id: channel,
        text: cutCharacters(plainText(message, telegramText), 4_096),
        link_preview_options: { is_disabled: true },
      },
    }),
    problem: (status, answer) => (isJsonObject(answer) && answer.ok === true ? undefined : `${status} ${said(answer)}`),
    retryAfterMs: answer => {
      const parameters = isJsonObject(answer) ? answer.parameters : undefined
      return seconds(isJsonObject(parameters) ? parameters.retry_after : undefined)
    },
  },
}

/** The named form, or the one that matches the host, or Slack's, which many services accept. */
export function templateFor({ template, webhook }: ChatConfig): ChatForm {
  const named = template === undefined ? undefined : TEMPLATES[template]
  const host = URL.parse(webhook)?.hostname ?? ''
  return named ?? Object.values(TEMPLATES).find(form => form.host.test(host)) ?? (TEMPLATES.slack as ChatForm)
}

/** One text for a service without markup of its own; the link is as it is. */
function plainText({ title, lines, url }: ChatText, escaped: (text: string) => string): string {
  return [escaped([title, ...lines].join('\n')), ...linkOf(url)].join('\n')
}

function markdownBody({ title, lines, url }: ChatText): string {
  const quoted = lines.map(line => `> ${markdownText(line)}`)
  return [`**${markdownText(title)}**`, ...quoted, ...linkOf(url).map(one => `[${one}](${one})`)].join('\n\n')
}

function slackBody({ title: plain, lines, url, tone, severity, owner, at }: ChatText, channel?: string): JsonObject {
  const title = slackText(plain)
  const attachment = {
    color: SLACK_COLOURS[tone],
    title,
    ...(url === undefined ? {} : { title_link: url }),
    text: [slackText(cutCharacters(lines.join('\n'), 3_000)), ...linkOf(url)].join('\n'),
    // No field is read as Slack's markup: names have its characters.
    mrkdwn_in: [],
    fields: [
      ...(severity === undefined ? [] : [{ title: 'Severity', value: severity, short: true }]),
      { title: 'Owner', value: slackText(owner), short: true },
    ],
    ts: Math.floor(Date.parse(at) / 1_000),
  }
  return { text: title, mrkdwn: false, ...(channel ? { channel } : {}), attachments: [attachment] }
}

function discordBody({ title: plain, lines, url, tone, owner, at }: ChatText): JsonObject {
  const title = discordText(plain)
  const embed = {
    title: cutCharacters(title, 256),
    description: [cutCharacters(lines.map(discordText).join('\n'), 2_000), ...linkOf(url)].join('\n'),
    ...(url === undefined ? {} : { url }),
    color: COLOURS[tone],
    fields: [{ name: 'Owner', value: cutCharacters(discordText(owner), 200), inline: true }],
    timestamp: at,
  }
  // Names in a text must not mention users.
  return { content: cutCharacters(title, 2_000), embeds: [embed], allowed_mentions: { parse: [] } }
}

function linkOf(url: string | undefined): readonly string[] {
  return url === undefined ? [] : [url]
}

function codeProblem(answer: JsonValue | undefined, name: 'code' | 'errcode'): string | undefined {
  if (isJsonObject(answer) && answer[name] === 0) return undefined
  return said(answer)
}

/** A short text of an answer, for the list of deliveries. */
function said(answer: JsonValue | undefined): string {
  return answer === undefined ? 'no JSON' : JSON.stringify(answer).slice(0, 200)
}

function seconds(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.ceil(value * 1_000) : undefined
}
