/** Suppresses messages; null matches everything. */
export interface AlertSilenceTable {
  id: string
  owner_id: string
  rule: string | null
  server: string | null
  severity: 'warning' | 'critical' | null
  comment: string
  starts_at: string
  ends_at: string
  created_at: string
}

/** The state of a rule for one subject, unless nothing about it need be kept. */
export interface AlertInstanceTable {
  rule_id: string
  subject: string
  /** JSON of AlertInstance. */
  state: string
  incident_id: string | null
}

/** One alert from firing to resolved. Its rule may have been removed. */
export interface AlertIncidentTable {
  id: string
  owner_id: string
  rule_id: string
  rule: string
  severity: 'warning' | 'critical'
  condition: string
  threshold: number | null
  subject: string
  server: string | null
  tool: string | null
  state: 'firing' | 'resolved'
  /** JSON of the value when it fired, or last. */
  value: string
  flapping: number
  starts_at: string
  ends_at: string | null
  reason: string | null
  acked_by: string | null
  acked_at: string | null
}

/** One message about an incident to one channel; those with one `message_id` are sent together. */
export interface AlertDeliveryTable {
  id: string
  owner_id: string
  channel_id: string
  rule_id: string
  /** Null for a test. */
  incident_id: string | null
  kind: 'fired' | 'resolved' | 'repeat' | 'test'
  number: number
  /** Set when it is first sent, and kept by every further attempt. */
  message_id: string | null
  state: 'waiting' | 'sent' | 'failed' | 'dead'
  attempts: number
  detail: string | null
  created_at: string
  updated_at: string
}
