// The profile's text out of the page, piece by piece while the browser is still reading the file.

// Gives each piece once it is whole, and takes it out of the page.
// Errors: Error for a file that was cut off or lost pieces.
export async function* pieceTexts(page: Document): AsyncGenerator<string> {
  for (let at = 0; ; at++) {
    await whenWhole(page, at);
    const count = page.documentElement.dataset.vestaPieces;
    const piece = page.getElementById(`vesta-data-${at}`);
    if (piece !== null) {
      const text = piece.textContent ?? "";
      piece.remove();
      yield text;
    } else if (count === undefined) {
      throw new Error("The file was cut off: it ends before the profile does.");
    } else if (at < Number(count)) {
      throw new Error(`The file is damaged: piece ${at + 1} of ${count} is missing.`);
    } else {
      return;
    }
  }
}

function isWhole(page: Document, at: number): boolean {
  return page.getElementById(`vesta-data-${at + 1}`) !== null
    || page.documentElement.dataset.vestaPieces !== undefined || page.readyState !== "loading";
}

function whenWhole(page: Document, at: number): Promise<void> {
  if (isWhole(page, at)) {
    return Promise.resolve();
  }
  return new Promise((done) => {
    const check = (): void => {
      if (isWhole(page, at)) {
        observer.disconnect();
        page.removeEventListener("DOMContentLoaded", check);
        done();
      }
    };
    const observer = new MutationObserver(check);
    observer.observe(page.documentElement, { childList: true, subtree: true, attributes: true,
      attributeFilter: ["data-vesta-pieces"] });
    page.addEventListener("DOMContentLoaded", check);
  });
}
