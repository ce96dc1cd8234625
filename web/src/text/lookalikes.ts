// Letters that look like other letters: `pаypal` with one letter that is Cyrillic. The daemon marks the same ones.

// Each letter, then the ASCII letter that it looks like; `model/lookalikes.py` has the same.
export const PAIRS =
  "аaеeоoрpсcуyхxіiјjѕsԁdһhӏlԛqԝwАAВBЕEКKМMНHОOРPСCТTУYХXІIЈJЅSԌGӀIҮYԚQԜW" +
  "αaοoρpνvιiυuχxγyΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϲcϳjϹC" +
  "օoոnսuհhցgքpզqւlՏSՕOԼLᎪAᏴBᏟCᎠDᎬEᎻHᎫJᏦKᏞLᎷMᏢPᏒRᏚSᎢTᏙVᎳWᏃZɑaɡgɩiʀrꞮIꓐBꓑPꓓDꓔTꓖGꓗKꓙJꓚCꓜZꓝFꓟMꓠNꓡLꓢSꓣRꓦVꓧHꓪWꓫXꓬYꓮAꓰEꓲIꓳO";
const TWINS = new Set([...PAIRS].filter((_, at) => at % 2 === 0));
const FOREIGN =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}\p{Script=Georgian}\p{Script=Deseret}\p{Script=Osage}\p{Script=Tifinagh}]/u;
const LATIN = /\p{Script=Latin}/u;
const LETTER = /\p{L}/u;
const WORD = /[\p{L}\p{N}_.-]/u;
// `ｐ` and `𝐩`: letters and digits of ASCII in another dress.
const DISGUISED =
  /[\u{ff10}-\u{ff19}\u{ff21}-\u{ff3a}\u{ff41}-\u{ff5a}\u{1d400}-\u{1d7ff}\u{1ee00}-\u{1eeff}\u{1fbf0}-\u{1fbf9}ℂℊ-ℓℕℙ-ℝℤℨℬℭℯ-ℱℳℴℹℼ-ℿⅅ-ⅉ]/u;

/** Positions of letters that a reader would take for others; `letters` are those of one line. */
export function deceptive(letters: string[]): Set<number> {
  const foreign: number[] = [];
  const found = new Set<number>();
  letters.forEach((one, at) => {
    if (one < "\x80") return;
    if (TWINS.has(one) || (LETTER.test(one) && FOREIGN.test(one))) foreign.push(at);
    if (DISGUISED.test(one)) found.add(at);
  });
  if (foreign.length > 1 && foreign.every((at) => TWINS.has(letters[at] ?? ""))) return new Set([...found, ...foreign]);
  for (const at of foreign) if (inLatinWord(letters, at)) found.add(at);
  return found;
}

function inLatinWord(letters: string[], at: number): boolean {
  const isLatin = (one: string) => LATIN.test(one) && !TWINS.has(one);
  for (const step of [-1, 1])
    for (let next = at + step; WORD.test(letters[next] ?? " "); next += step)
      if (isLatin(letters[next] ?? "")) return true;
  return false;
}
