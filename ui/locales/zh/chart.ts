/** Chinese texts of chart, by their English. */
export const chart: Readonly<Record<string, string>> = {
  '{value}/min': '{value} 次/分钟',
  '{value}/s': '{value} 次/秒',
  ms: '毫秒',
  'a minute': '每分钟',
  'a second': '每秒',
  'share of calls': '占调用比例',
  '{what} as a chart': '以图表显示“{what}”',
  '{what} as a table': '以表格显示“{what}”',
  '{what}, table': '{what}（表格）',
  Time: '时间',
  'The last {n} of {all} points.': '共 {all} 个数据点，显示最近 {n} 个。',
}
