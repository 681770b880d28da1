import type { FieldError } from '../contract/errors.ts'
import type { GuardedFetch } from '../contract/fetch.ts'
import type { JsonObject } from '../contract/json.ts'
import type { LocalText } from './pages.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    notificationChannel: NotificationChannel
    alertMetric: AlertMetric
  }
}

declare module '../contract/events.ts' {
  interface PluginEvents {
    'alert.pending': AlertEvent
    'alert.fired': AlertEvent
    'alert.resolved': AlertEvent
  }
}

/** An alert rule for one subject; `incident` is absent while pending. */
export type AlertEvent = { rule: string; severity: 'warning' | 'critical'; subject: string; incident?: string }

/** A message about alerts of one rule, with the same `id` at every attempt. Times are ISO 8601 UTC. */
export interface AlertMessage extends Readonly<Record<'id' | 'rule' | 'owner' | 'condition' | 'at', string>> {
  readonly kind: 'fired' | 'resolved' | 'repeat' | 'test'
  readonly severity: 'warning' | 'critical'
  readonly flapping: boolean
  readonly instances: readonly AlertSubject[]
}

/** One subject of a message; `value` and `threshold` in milliseconds, ratios of 0 to 1, per second. */
export interface AlertSubject
  extends Readonly<Record<'incident' | 'subject' | 'startsAt', string>>,
    Readonly<Partial<Record<'server' | 'tool' | 'endsAt' | 'reason', string>>> {
  readonly state: 'firing' | 'resolved'
  readonly value: number | string | null
  readonly threshold?: number
}

/** A message to a user about something else than an alert. Channels show each text on one line. */
export interface Notice {
  readonly title: string
  readonly lines: readonly string[]
  /** A page of the hub. */
  readonly url: string
}

/** A notice on its way, with the same `id` at every attempt. `owner`: the user who gets it. Times are ISO 8601 UTC. */
export interface NoticeMessage extends Notice, Readonly<Record<'id' | 'owner' | 'at', string>> {}

declare module '../contract/plugin.ts' {
  interface PluginContext<Config> {
    /**
     * Sends a message to a user by all channels that the user has and that are on; at most six a minute. Resolves with the number of
     * channels that took it, 0 until the hub has begun. Never rejects.
     */
    notify(userId: string, notice: Notice): Promise<number>
  }
}

/** Outbound access of a channel, with its owner's current rights. */
export interface ChannelTarget {
  readonly config: JsonObject
  /** Sends requests to addresses that the channel's owner may reach. */
  readonly fetch: GuardedFetch
  /**
   * The addresses of a host, for a channel that connects by itself: connect to one of these and not to the name. Rejects with
   * `url_address_blocked` when one of them is closed to the owner, and `upstream_dns_error` when there is none.
   */
  resolve(host: string): Promise<readonly string[]>
}

/** Sends messages about alerts; the id of the contribution is the `type` of its channels. */
export interface NotificationChannel {
  readonly label: LocalText
  /**
   * JSON Schema of `config`, from which the console draws the form: `title` and `description` of each field, and beside them
   * `x-zh: {title, description}` with the same in Chinese. So in the schema of a transport, and of a plugin's configuration.
   * A value with the `format` `uri` or `host` is an address to which the channel sends: its owner must be allowed to reach it.
   */
  readonly configSchema: JsonObject
  /** Pointers into `config` of what is kept sealed and shown masked; `*` stands for any key. */
  readonly secrets: readonly string[]
  /** It reaches hosts without `fetch`, so that ordinary users have no such channel, or none with these members of `config`. */
  readonly adminOnly?: true | readonly string[]
  readonly maxPerMinute?: number
  /** Every wrong field of `config`, with pointers into it such as `#/url`. */
  check(config: JsonObject): readonly FieldError[]
  /** Rejects with `delivery_failed`, data {permanent?, retryAfterMs?}. */
  send(message: AlertMessage, to: ChannelTarget, signal: AbortSignal): Promise<string>
  /** The same for messages about something else. Without it the channel has alerts alone. */
  notify?(message: NoticeMessage, to: ChannelTarget, signal: AbortSignal): Promise<string>
}

/** One number of a metric now, which a rule evaluates by itself. */
export interface AlertReading {
  /** Stable over restarts. */
  readonly key: string
  /** The users whose rules see it; those of administrators see all. */
  readonly userIds: readonly string[]
  /** The subject of alerts, for people. */
  readonly label: string
  readonly value: number
  /** Says the value in alerts and messages, in place of the number. */
  readonly text?: string
  /** Values of the fields by which conditions select. `server`: `owner~name`. */
  readonly labels: Readonly<Partial<Record<AlertMetric['fields'][number], string>>>
}

/**
 * A metric that conditions of alert rules can name, as it is now. Its id is its name: the plugin's, a dot, and a word, such as
 * `orders.late` in `orders.late{kind="express"} > 3`.
 */
export interface AlertMetric {
  readonly fields: readonly ('server' | 'owner' | 'group' | 'tool' | 'kind')[]
  /** Called before evaluations, every 10 s, while a rule names the metric; is given 2 s. */
  read(): Promise<readonly AlertReading[]> | readonly AlertReading[]
}
